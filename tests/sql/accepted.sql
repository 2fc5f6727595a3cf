-- Statements that are answered. Each must mean what it means to plain DuckDB: test_accepted.py runs
-- them without noise, on every engine, at row and at user level, and compares.
--
-- A statement ends with a semicolon at the end of a line. The comment above it says what it is
-- about. Public groups without rows are present in our answers: such rows must have n = 0. A line
-- "--: unit" marks statements that only make sense where id is the protected unit. A line
-- "--= SELECT ..." is what plain DuckDB is asked instead, and "--: dialect spark" the dialect that
-- the statement is written in.

-- == every aggregate

-- COUNT(*)
SELECT COUNT(*) FROM visits;
-- COUNT of a column leaves NULL out
SELECT COUNT(age), COUNT(cost), COUNT(ward), COUNT(active), COUNT(day), COUNT(name) FROM visits;
-- COUNT() is COUNT(*)
SELECT COUNT() FROM visits;
-- COUNT of constants
SELECT COUNT(1), COUNT('x'), COUNT(NULL) FROM visits;
-- COUNT(ALL x)
SELECT COUNT(ALL age) FROM visits;
-- COUNT of an expression
SELECT COUNT(age + score), COUNT(NULLIF(ward, 'er')), COUNT(CASE WHEN age > 50 THEN 1 END) FROM visits;
-- SUM of integers and of floats
SELECT SUM(age), SUM(score), SUM(cost), SUM(change) FROM visits;
-- SUM of expressions over several columns
SELECT SUM(age + score), SUM(age * score), SUM(cost * change), SUM(cost - age) FROM visits;
-- SUM of constants
SELECT SUM(1), SUM(0), SUM(2.5), SUM(-3) FROM visits;
-- SUM of a boolean counts it
SELECT SUM(active), SUM(age > 50), SUM((age > 50)::INT) FROM visits;
-- AVG of integers and of floats
SELECT AVG(age), AVG(score), AVG(cost), AVG(change) FROM visits;
-- AVG of expressions
SELECT AVG(age * 2 + 1), AVG(ABS(change)), AVG(cost / 1000) FROM visits;
-- MEAN is AVG
SELECT mean(cost) AS m, Mean(age + 1) AS a FROM visits;
-- COUNT_IF
SELECT COUNT_IF(age > 50), COUNT_IF(active), COUNT_IF(ward = 'er' AND sex = 'f') FROM visits;
-- the number of different values, of every type
SELECT COUNT(DISTINCT age), COUNT(DISTINCT cost), COUNT(DISTINCT ward), COUNT(DISTINCT active), COUNT(DISTINCT day), COUNT(DISTINCT seen), COUNT(DISTINCT name) FROM visits;
-- different values by group, with FILTER
SELECT ward, COUNT(*) AS n, COUNT(DISTINCT age) AS ages, COUNT(DISTINCT name) FILTER (WHERE age > 50) AS names FROM visits GROUP BY ward;
-- different values of an expression
SELECT COUNT(DISTINCT age // 10), COUNT(DISTINCT LOWER(name)), COUNT(DISTINCT MONTH(day)), COUNT(DISTINCT NULL) FROM visits WHERE score > -20;
-- different values beside everything else
SELECT COUNT(*), COUNT(DISTINCT score), AVG(age), COUNT(DISTINCT age) / COUNT(age) AS part FROM visits;
-- different tuples: a NULL inside is a value like any other
SELECT COUNT(DISTINCT (ward, sex)), COUNT(DISTINCT (age, cost, name)), COUNT(DISTINCT ROW(day, active)), APPROX_COUNT_DISTINCT((ward, sex)) FROM visits;
-- a row of one column is a value even if NULL is in it
SELECT COUNT(DISTINCT ROW(age)), COUNT(DISTINCT ROW(name)) FROM visits;
-- different tuples by group, with FILTER
SELECT ward, COUNT(*) AS n, COUNT(DISTINCT (sex, age)) AS pairs, COUNT(DISTINCT (sex, age // 10)) FILTER (WHERE cost > 100) AS few FROM visits GROUP BY ward;
-- COUNT(DISTINCT a, b) leaves out a tuple with a NULL, as in MySQL and Spark
--= SELECT COUNT(DISTINCT (ward, age)) FILTER (WHERE ward IS NOT NULL AND age IS NOT NULL), COUNT(DISTINCT (name, cost, score)) FILTER (WHERE name IS NOT NULL AND cost IS NOT NULL AND score IS NOT NULL AND age > 20) FROM visits
SELECT COUNT(DISTINCT ward, age), COUNT(DISTINCT name, cost, score) FILTER (WHERE age > 20) FROM visits;
-- the same, in Spark's words
--: dialect spark
--= SELECT COUNT(DISTINCT (ward, age)) FILTER (WHERE ward IS NOT NULL AND age IS NOT NULL) FROM visits
SELECT COUNT(DISTINCT ward, age) FROM visits;
-- variances and deviations, of a sample and of a population
SELECT VAR_POP(age), VAR_SAMP(cost), VARIANCE(score), STDDEV(change), STDDEV_POP(age), STDDEV_SAMP(cost) FROM visits;
-- the standard error of a mean
SELECT SEM(age), SEM(cost) FILTER (WHERE age > 20) FROM visits;
-- sums of squares and of products, and the pairs that they are of
SELECT REGR_SXX(cost, age) AS xx, REGR_SYY(cost, age) AS yy, REGR_SXY(cost, age) AS xy, REGR_COUNT(cost, age) AS n, REGR_COUNT(age, score) FILTER (WHERE cost > 100) AS few FROM visits;
-- weighted means, of rows where value and weight are there
SELECT ward, COUNT(*) AS n, WEIGHTED_AVG(cost, age) AS a, WAVG(score, age) AS b FROM visits GROUP BY ward;
-- sums and means that are more accurate in floats
SELECT FSUM(cost), KAHAN_SUM(age), SUMKAHAN(change), FAVG(cost) FROM visits;
-- geometric means, of what is above 0
SELECT GEOMEAN(age + 1), GEOMETRIC_MEAN(GREATEST(cost, 1)) FROM visits;
-- variances by group, with FILTER
SELECT sex, COUNT(*) AS n, VAR_SAMP(age) FILTER (WHERE score > 0) AS v, STDDEV(cost / 1000) AS d FROM visits GROUP BY sex;
-- a count, a mean and a deviation of the same values, from three sums
SELECT sex, COUNT(age) AS n, SUM(age) AS total, AVG(age) AS mean, STDDEV(age) AS d FROM visits GROUP BY sex;
-- a deviation over a mean
SELECT STDDEV(cost) / AVG(cost) AS variation FROM visits WHERE age > 20;
-- skewness and kurtosis
SELECT SKEWNESS(age), KURTOSIS(score), SKEWNESS(age + score) FROM visits;
-- kurtosis of a population, with FILTER
SELECT KURTOSIS_POP(age), kurtosis_pop(score) FILTER (WHERE age > 20) + 3 AS plain FROM visits;
-- covariances and correlations leave out rows where either value is NULL
SELECT COVAR_POP(age, score), COVAR_SAMP(score, change), CORR(age, score), CORR(change, age) FROM visits;
-- the line of least squares
SELECT REGR_SLOPE(score, age) AS slope, REGR_INTERCEPT(score, age) AS start, REGR_R2(score, age) AS r2, REGR_AVGX(score, age) AS x, REGR_AVGY(score, age) AS y FROM visits;
-- correlations by group, with FILTER
SELECT ward, COUNT(*) AS n, CORR(age, score) FILTER (WHERE sex = 'f') AS c FROM visits GROUP BY ward;
-- moments of integers far from zero, which doubles do not tell apart
--= SELECT STDDEV_POP(age), VAR_POP(age), SKEWNESS(score), CORR(age, score) FROM visits
SELECT STDDEV_POP(age + 1152921504606846976), VAR_POP(age - 9223372036854775000), SKEWNESS(score - 4611686018427387904), CORR(age + 1152921504606846976, score) FROM visits;
-- the same by group, with FILTER, and a mean
--= SELECT sex, COUNT(*) AS n, VAR_SAMP(age) FILTER (WHERE score > 0) AS v, AVG(age + 1152921504606846976) AS a FROM visits GROUP BY sex
SELECT sex, COUNT(*) AS n, VAR_SAMP(age + 4611686018427387904) FILTER (WHERE score > 0) AS v, AVG(age + 1152921504606846976) AS a FROM visits GROUP BY sex;
-- moments of too few rows are NULL
SELECT VAR_POP(age), VAR_SAMP(age), SKEWNESS(age), CORR(age, score) FROM visits WHERE age > 50 AND age < 50;
-- all of them together
SELECT COUNT(*), COUNT(age), SUM(age), AVG(age), AVG(cost), SUM(cost), COUNT_IF(age < 18) FROM visits;
-- the number of units
--: unit
SELECT COUNT(DISTINCT id) FROM visits;
-- the number of units in groups
--: unit
SELECT ward, COUNT(DISTINCT id) AS people, COUNT(*) AS n FROM visits GROUP BY ward;
-- the number of units under a filter
--: unit
SELECT COUNT(DISTINCT id) FILTER (WHERE age > 50) AS old, COUNT(DISTINCT id) AS everyone FROM visits WHERE score > 0;
-- visits per unit
--: unit
SELECT COUNT(*) / COUNT(DISTINCT id) FROM visits;

-- == FILTER

-- COUNT with a FILTER
SELECT COUNT(*) FILTER (WHERE age > 50) FROM visits;
-- FILTER without the word WHERE
SELECT COUNT(*) FILTER (age > 50) FROM visits;
-- SUM and AVG with a FILTER
SELECT SUM(cost) FILTER (WHERE ward = 'er'), AVG(cost) FILTER (WHERE active) FROM visits;
-- FILTER with several conditions, and WHERE
SELECT COUNT(age) FILTER (WHERE age > 50 AND sex = 'f') FROM visits WHERE ward IS NOT NULL;
-- a FILTER on a condition that can be unknown
SELECT COUNT(*) FILTER (WHERE NOT active), COUNT(*) FILTER (WHERE active IS NOT TRUE) FROM visits;
-- COUNT_IF with a FILTER
SELECT COUNT_IF(age > 50) FILTER (WHERE sex = 'f') FROM visits;
-- a share by FILTER, in groups
SELECT ward, COUNT(*) AS n, COUNT(*) FILTER (WHERE sex = 'f') / COUNT(*) AS women FROM visits GROUP BY ward HAVING n > 0;
-- FILTERs that differ are different aggregates
SELECT SUM(age) FILTER (WHERE ward = 'er') - SUM(age) FILTER (WHERE ward = 'gp') AS difference FROM visits;

-- == arithmetic over aggregates

-- a ratio of sums
SELECT SUM(cost) / SUM(age) AS r FROM visits;
-- an average by hand
SELECT SUM(cost) / COUNT(cost) AS a, AVG(cost) AS b FROM visits;
-- sums, differences, products and powers of aggregates
SELECT 1 + COUNT(*) * 2 - SUM(age) // 3, COUNT(*) ** 2, -SUM(score), COUNT(*) % 7 FROM visits;
-- a quotient of integers is a float
SELECT COUNT(*) / 7, SUM(age) / 3, COUNT(*) // 7 FROM visits;
-- functions of aggregates
SELECT ROUND(AVG(cost), 2), ABS(SUM(score)), FLOOR(AVG(age)), CEIL(AVG(age)), SQRT(COUNT(*)), LN(COUNT(*)), EXP(AVG(change) / 10) FROM visits;
-- casts of aggregates
SELECT CAST(AVG(cost) AS INT), SUM(age)::DOUBLE, COUNT(*)::BIGINT, SUM(age)::VARCHAR FROM visits;
-- choices among aggregates
SELECT GREATEST(SUM(age), 5), LEAST(COUNT(*), 10), COALESCE(NULLIF(COUNT(*), 0), 1), CASE WHEN COUNT(*) > 100 THEN 'many' ELSE 'few' END FROM visits;
-- comparisons of aggregates
SELECT COUNT(*) > 100 AS many, SUM(age) BETWEEN 1 AND 5 AS few, COUNT(*) IN (1, 2) AS listed, SUM(age) IS NULL AS missing FROM visits;
-- an aggregate divided by zero is NULL
SELECT SUM(age) / (COUNT(*) - COUNT(*)) AS nothing, COUNT(*) // 0 AS none, COUNT(*) % 0 AS left_over FROM visits;
-- constants beside aggregates
SELECT 'all' AS who, 5 AS five, NULL AS nothing, TRUE AS yes, DATE '2024-01-31' AS day, COUNT(*) AS n FROM visits;
-- the same aggregate twice
SELECT COUNT(*), COUNT(*) FROM visits;
-- aggregates as text
SELECT COUNT(*) || ' visits' AS words FROM visits;

-- == comparisons and logic

-- each comparison
SELECT COUNT_IF(age < 50), COUNT_IF(age <= 50), COUNT_IF(age = 50), COUNT_IF(age >= 50), COUNT_IF(age > 50), COUNT_IF(age <> 50), COUNT_IF(age != 50), COUNT_IF(age == 50) FROM visits;
-- a constant on the left
SELECT COUNT(*) FROM visits WHERE 5 < age AND 'er' = ward;
-- columns with columns
SELECT COUNT(*) FROM visits WHERE age > score AND cost > age * 100 AND ward <> sex;
-- AND binds tighter than OR
SELECT COUNT(*) FROM visits WHERE ward = 'er' OR sex = 'f' AND age > 50;
-- parentheses
SELECT COUNT(*) FROM visits WHERE (ward = 'er' OR sex = 'f') AND age > 50;
-- NOT
SELECT COUNT(*) FROM visits WHERE NOT (active AND age > 50) AND NOT ward = 'gp';
-- a boolean column is a condition
SELECT COUNT(*) FROM visits WHERE active;
-- NOT of a boolean column
SELECT COUNT(*) FROM visits WHERE NOT active;
-- IS TRUE, IS FALSE and their opposites
SELECT COUNT_IF(active IS TRUE), COUNT_IF(active IS NOT TRUE), COUNT_IF(active IS FALSE), COUNT_IF(active IS NOT FALSE) FROM visits;
-- IS NULL, IS NOT NULL, ISNULL and NOTNULL
SELECT COUNT_IF(age IS NULL), COUNT_IF(age IS NOT NULL), COUNT_IF(cost ISNULL), COUNT_IF(ward NOTNULL) FROM visits;
-- IS NULL of expressions
SELECT COUNT_IF((age + score) IS NULL), COUNT_IF((age > 50) IS NULL), COUNT_IF((age > 50 OR NULL) IS NULL) FROM visits;
-- NULL in logic
SELECT COUNT_IF(NOT (age > 5 AND NULL)), COUNT_IF(active OR NULL), COUNT_IF(active AND NULL IS NULL) FROM visits;
-- a comparison with NULL is never true
SELECT COUNT(*) FROM visits WHERE age = NULL OR ward <> NULL;
-- WHERE NULL keeps nothing
SELECT COUNT(*) FROM visits WHERE NULL;
-- WHERE TRUE keeps everything
SELECT COUNT(*) FROM visits WHERE TRUE AND 1 = 1;
-- IS DISTINCT FROM
SELECT COUNT_IF(ward IS DISTINCT FROM 'er'), COUNT_IF(ward IS NOT DISTINCT FROM 'er'), COUNT_IF(age IS DISTINCT FROM NULL) FROM visits;
-- BETWEEN
SELECT COUNT_IF(age BETWEEN 10 AND 20), COUNT_IF(age NOT BETWEEN 10 AND 20), COUNT_IF(age BETWEEN 60 AND 20), COUNT_IF(cost BETWEEN age AND 10000) FROM visits;
-- IN
SELECT COUNT_IF(ward IN ('er', 'gp')), COUNT_IF(age IN (1, 2, 3)), COUNT_IF(cost IN (1, 2.5)), COUNT_IF(day IN ('2024-01-05', DATE '2024-01-06')) FROM visits;
-- NOT IN
SELECT COUNT_IF(ward NOT IN ('er', 'gp')), COUNT_IF(NOT ward IN ('er')), COUNT_IF(age NOT IN (1, 2)) FROM visits;
-- NULL in a list is unknown, not false
SELECT COUNT_IF(ward IN ('er', NULL)), COUNT_IF(ward NOT IN ('er', NULL)), COUNT(*) FILTER (WHERE ward IN (NULL)) FROM visits;
-- a list of columns and constants
SELECT COUNT_IF(age IN (score, 50)), COUNT_IF(ward IN (sex, 'er')), COUNT_IF(5 + 3 IN (8)) FROM visits;
-- a condition by CASE
SELECT COUNT(*) FROM visits WHERE CASE WHEN ward = 'er' THEN age > 50 ELSE age < 20 END;
-- booleans compared
SELECT COUNT_IF(active = (age > 50)), COUNT_IF(active <> TRUE), COUNT_IF(active > FALSE) FROM visits;
-- integers and floats compared
SELECT COUNT_IF(age > 49.5), COUNT_IF(age = 50.0), COUNT_IF(cost > 100), COUNT_IF(TRUE = 1) FROM visits;

-- == text

-- LIKE with % and _
SELECT COUNT_IF(name LIKE 'a%'), COUNT_IF(name LIKE '%b%'), COUNT_IF(name LIKE '_n_'), COUNT_IF(name LIKE '_%_'), COUNT_IF(name LIKE 'D_') FROM visits;
-- LIKE of everything, of nothing, and of what looks like a regular expression
SELECT COUNT_IF(name LIKE '%'), COUNT_IF(name LIKE ''), COUNT_IF(name LIKE 'a.b'), COUNT_IF(name LIKE '(%'), COUNT_IF(name LIKE 'a\_b%'), COUNT_IF(name LIKE '[a-z]%') FROM visits;
-- NOT LIKE
SELECT COUNT_IF(name NOT LIKE '%b%'), COUNT_IF(NOT name LIKE '%b%'), COUNT(*) FILTER (WHERE name LIKE NULL) FROM visits;
-- a pattern in two pieces
SELECT COUNT(*) FROM visits WHERE name LIKE 'A' || '%';
-- STARTS_WITH, ENDS_WITH and CONTAINS
SELECT COUNT_IF(starts_with(name, 'A')), COUNT_IF(ends_with(name, 'b')), COUNT_IF(contains(name, '%')) FROM visits;
-- text compares by its bytes
SELECT COUNT_IF(name < 'b'), COUNT_IF(name >= 'a' AND name < 'b'), COUNT_IF('a' < 'B'), COUNT_IF(ward > sex) FROM visits;
-- LOWER and UPPER
SELECT COUNT_IF(LOWER(name) = 'ann'), COUNT_IF(UPPER(name) = 'BOB'), COUNT_IF(UPPER(name) = 'DÉ'), COUNT_IF(LCASE(name) = UCASE(name)) FROM visits;
-- LENGTH counts characters
SELECT COUNT_IF(LENGTH(name) = 0), COUNT_IF(LEN(name) = 2), COUNT_IF(CHAR_LENGTH(name) > 2), SUM(LENGTH(ward)) FROM visits;
-- SUBSTRING, SUBSTR and LEFT
SELECT COUNT_IF(SUBSTRING(name, 1, 1) = 'A'), COUNT_IF(SUBSTR(name, 2) = 'nn'), COUNT_IF(SUBSTRING(name FROM 2 FOR 1) = 'n'), COUNT_IF(SUBSTRING(name FOR 2) = 'An'), COUNT_IF(LEFT(name, 2) = 'An'), COUNT_IF(SUBSTRING(name, 9, 2) = '') FROM visits;
-- TRIM, LTRIM and RTRIM
SELECT COUNT_IF(TRIM(name) = 'Cy'), COUNT_IF(LTRIM(name) = 'Cy '), COUNT_IF(RTRIM(name) = ' Cy'), COUNT_IF(TRIM(LEADING FROM name) = 'Cy ') FROM visits;
-- CONCAT skips NULL, || does not
SELECT COUNT_IF(CONCAT(name, '!') = '!'), COUNT_IF(name || '!' = '!'), COUNT_IF(CONCAT(ward, age) = 'er5'), COUNT_IF((ward || '-' || sex) = 'er-f') FROM visits;
-- REPLACE
SELECT COUNT_IF(REPLACE(name, 'n', '') = 'A'), COUNT_IF(REPLACE(name, 'nn', 'mm') LIKE '%mm') FROM visits;
-- a quote inside a text
SELECT COUNT_IF(name = 'it''s'), COUNT_IF('it''s' = 'it''s') FROM visits;
-- text beyond ASCII
SELECT COUNT_IF(name = 'Dé'), COUNT_IF(name LIKE '%é'), COUNT_IF(name = '日本'), COUNT_IF(name = '🎉') FROM visits;

-- == numbers

-- arithmetic
SELECT SUM(age + 1), SUM(age - 1), SUM(age * 3), SUM(age / 10), SUM(cost / 7), SUM(-age), SUM(+age), SUM(-(-age)) FROM visits;
-- precedence of signs and powers
SELECT SUM(- age ** 2), SUM(-2 ** 2 + age), SUM(2 ** 3 ** 2 + age), SUM(2 + 3 * age) FROM visits;
-- precedence of division and remainder
SELECT SUM(age % 7 * 2), SUM(age * 7 // 2 % 5), SUM(age - score - 3), SUM(age / 2 * 3) FROM visits;
-- integer division and remainder round toward zero
SELECT SUM(score // 7), SUM(score % 7), SUM(MOD(score, 7)), SUM(age // 10), SUM(score // -7), SUM(score % -7) FROM visits;
-- a row divided by zero is NULL
SELECT COUNT(age / score), COUNT(age // score), COUNT(age % score), COUNT(1 / 0) FROM visits;
-- ABS and SIGN
SELECT SUM(ABS(score)), SUM(ABS(change)), SUM(SIGN(score)), COUNT_IF(SIGN(change) = -1), SUM(@score) FROM visits;
-- FLOOR, CEIL and CEILING
SELECT SUM(FLOOR(cost)), SUM(CEIL(cost)), SUM(CEILING(change)), SUM(FLOOR(change)), SUM(FLOOR(age)) FROM visits;
-- ROUND goes away from zero at a half
SELECT SUM(ROUND(cost)), SUM(ROUND(cost, 1)), SUM(ROUND(cost, -2)), SUM(ROUND(age, -1)), SUM(ROUND(score / 2)), SUM(ROUND(change, 3)) FROM visits;
-- SQRT, LN and EXP
SELECT SUM(SQRT(age)), SUM(LN(cost + 1)), SUM(EXP(change)), AVG(EXP(change / 10)), SUM(SQRT(cost)) FROM visits;
-- POWER, POW, ** and ^
SELECT SUM(POWER(change, 2)), SUM(POW(change, 3)), SUM(change ** 2), SUM(change ^ 4), SUM(POWER(age, 0.5)), SUM(POWER(cost + 1, -1)) FROM visits;
-- LEAST and GREATEST skip NULL
SELECT SUM(LEAST(age, 50)), SUM(GREATEST(score, 0)), SUM(LEAST(age, score)), SUM(GREATEST(age, score, 5)), COUNT(LEAST(age, NULL)) FROM visits;
-- clamping by LEAST and GREATEST bounds a sum
SELECT SUM(GREATEST(0, LEAST(age / (score + 51), 10))) FROM visits;
-- COALESCE, IFNULL and NULLIF
SELECT SUM(COALESCE(age, 0)), SUM(IFNULL(cost, 1)), SUM(NULLIF(age, 50)), SUM(COALESCE(NULLIF(score, 0), 7)) FROM visits;
-- CASE with and without ELSE
SELECT SUM(CASE WHEN age > 50 THEN 1 ELSE 0 END), SUM(CASE WHEN ward = 'er' THEN cost END), SUM(CASE WHEN age > 50 THEN 2.5 WHEN age > 20 THEN 1 ELSE 0 END) FROM visits;
-- CASE of a value
SELECT SUM(CASE sex WHEN 'f' THEN 1 WHEN 'm' THEN 2 END), SUM(CASE ward WHEN 'er' THEN age ELSE score END), SUM(CASE age WHEN NULL THEN 1 ELSE 0 END) FROM visits;
-- nested CASE
SELECT SUM(CASE WHEN sex = 'f' THEN CASE WHEN age > 50 THEN 3 ELSE 2 END ELSE 1 END) FROM visits;
-- IF
SELECT SUM(IF(age > 50, 1, 0)), SUM(IF(active, age, score)) FROM visits;
-- a square is never negative
SELECT SUM(score * score), SUM((age - 50) * (age - 50)), AVG(change * change) FROM visits;
-- numbers in every spelling
SELECT COUNT(*) FROM visits WHERE age >= 1e1 AND age <= 2.5e1 AND cost >= .5 AND cost < 5_0000 AND score > - 60;
-- large numbers
SELECT COUNT_IF(age < 9223372036854775807), COUNT_IF(age > -9223372036854775808), COUNT_IF(age < 99999999999999999999) FROM visits;
-- functions inside functions inside functions
SELECT SUM(ROUND(SQRT(ABS(score)) / 2 / 3 / 4 * 100, 1)) FROM visits WHERE SQRT(SQRT(SQRT(SQRT(SQRT(cost))))) > 1;

-- == CAST

-- to integers, half to even
SELECT SUM(CAST(cost AS INT)), SUM(cost::BIGINT), SUM(CAST(age / 2 AS INTEGER)), SUM(change::SMALLINT), SUM(CAST(age AS TINYINT)) FROM visits;
-- to floats
SELECT SUM(CAST(age AS DOUBLE)), SUM(age::DOUBLE / 3), SUM(CAST(active AS DOUBLE)) FROM visits;
-- to booleans
SELECT COUNT_IF(age::BOOLEAN), COUNT_IF(CAST(score AS BOOLEAN)) FROM visits;
-- booleans to integers
SELECT SUM(active::INT), SUM(CAST(age > 50 AS INT)) FROM visits;
-- to text
SELECT COUNT_IF(CAST(age AS VARCHAR) = '5'), COUNT_IF(age::TEXT LIKE '5%'), COUNT_IF(CAST(active AS VARCHAR) = 'true'), COUNT_IF(day::VARCHAR = '2024-01-05') FROM visits;
-- text that does not parse is NULL
SELECT COUNT(TRY_CAST(name AS INT)), COUNT(TRY_CAST(name AS DOUBLE)), COUNT(TRY_CAST(name AS DATE)) FROM visits;
-- between dates and times
SELECT COUNT_IF(CAST(seen AS DATE) = DATE '2024-03-02'), COUNT_IF(day::TIMESTAMP >= TIMESTAMP '2024-06-01 00:00:00'), COUNT_IF(CAST('2024-03-02' AS DATE) = seen::DATE) FROM visits;
-- casts of casts
SELECT SUM(age::DOUBLE::INT::DOUBLE::BIGINT), COUNT_IF(age::VARCHAR::INT = age) FROM visits;

-- == dates and times

-- dates compared with dates, with text and with times
SELECT COUNT_IF(day >= DATE '2024-06-01'), COUNT_IF(day < '2024-06-01'), COUNT_IF(day >= TIMESTAMP '2024-06-01 12:00:00') FROM visits;
-- a range of dates
SELECT COUNT(*) FROM visits WHERE day BETWEEN '2024-02-01' AND '2024-02-29' AND DATE '2024-01-01' <= day;
-- times compared with times, with text and with dates
SELECT COUNT_IF(seen >= TIMESTAMP '2024-03-02 12:00:00'), COUNT_IF(seen < '2024-03-02'), COUNT_IF(seen >= DATE '2024-03-02'), COUNT_IF(seen BETWEEN '2024-03-01 06:00:00' AND '2024-03-02 06:00:00') FROM visits;
-- a date column with a time column
SELECT COUNT_IF(day = seen), COUNT_IF(day > seen::DATE), COUNT_IF(day < seen) FROM visits;
-- EXTRACT of dates
SELECT SUM(EXTRACT(year FROM day)), SUM(EXTRACT(quarter FROM day)), SUM(EXTRACT(month FROM day)), SUM(EXTRACT(week FROM day)), SUM(EXTRACT(day FROM day)), SUM(EXTRACT(dow FROM day)), SUM(EXTRACT(isodow FROM day)), SUM(EXTRACT(doy FROM day)) FROM visits;
-- EXTRACT of times
SELECT SUM(EXTRACT(hour FROM seen)), SUM(EXTRACT(minute FROM seen)), SUM(EXTRACT(second FROM seen)), SUM(EXTRACT(day FROM seen)) FROM visits;
-- date_part
SELECT SUM(date_part('month', day)), SUM(date_part('hour', seen)), COUNT_IF(datepart('dow', day) = 0) FROM visits;
-- functions named after fields
SELECT SUM(YEAR(day)), SUM(QUARTER(day)), SUM(MONTH(day)), SUM(WEEK(day)), SUM(DAY(day)), SUM(HOUR(seen)), SUM(MINUTE(seen)), SUM(SECOND(seen)) FROM visits;
-- days of the week, month and year
SELECT SUM(dayofweek(day)), SUM(weekday(day)), SUM(isodow(day)), SUM(dayofmonth(day)), SUM(dayofyear(day)), SUM(weekofyear(day)) FROM visits;
-- DATE_TRUNC
SELECT COUNT_IF(date_trunc('month', day) = '2024-02-01'), COUNT_IF(date_trunc('week', day) = DATE '2024-01-08'), COUNT_IF(date_trunc('day', seen) = DATE '2024-03-02'), COUNT_IF(date_trunc('hour', seen) = TIMESTAMP '2024-03-02 05:00:00') FROM visits;
-- the least of dates
SELECT COUNT_IF(LEAST(day, DATE '2024-02-01') = DATE '2024-02-01'), COUNT_IF(COALESCE(day, DATE '2024-01-01') = '2024-01-01') FROM visits;

-- == GROUP BY

-- one key
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward;
-- two keys
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex;
-- three keys, one of them boolean
SELECT ward, sex, active, COUNT(*) AS n FROM visits GROUP BY ward, sex, active;
-- every aggregate in groups
SELECT ward, COUNT(*) AS n, COUNT(age) AS c, SUM(age) AS s, AVG(age) AS a, AVG(cost) AS m, SUM(change) AS t FROM visits GROUP BY ward HAVING n > 0;
-- a key that is not shown
SELECT COUNT(*) AS n FROM visits GROUP BY ward;
-- ordinals
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY 1, 2;
-- GROUP BY ALL
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ALL;
-- GROUP BY ALL without keys
SELECT COUNT(*), 'x' AS label FROM visits GROUP BY ALL;
-- keys in parentheses
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY (ward, (sex));
-- GROUP BY nothing
SELECT COUNT(*) FROM visits GROUP BY ();
-- a constant groups nothing
SELECT 'x' AS k, COUNT(*) AS n FROM visits GROUP BY k;
-- a constant beside a key
SELECT 'x' AS k, ward, COUNT(*) AS n FROM visits GROUP BY 1, 2;
-- an alias as a key
SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY w;
-- the name of a column goes before an alias
SELECT LOWER(ward) AS ward, COUNT(*) AS n FROM visits GROUP BY ward;
-- an integer column with a range
SELECT age, COUNT(*) AS n FROM visits WHERE age BETWEEN 20 AND 30 GROUP BY age ORDER BY age;
-- a date column with a range
SELECT day, COUNT(*) AS n FROM visits WHERE day < '2024-01-20' GROUP BY day ORDER BY day;
-- a boolean column
SELECT active, COUNT(*) AS n FROM visits GROUP BY active;
-- WHERE on the key
SELECT ward, COUNT(*) AS n FROM visits WHERE ward IN ('er', 'gp') GROUP BY ward ORDER BY ward;
-- WHERE with one value of the key
SELECT ward, COUNT(*) AS n FROM visits WHERE ward = 'er' GROUP BY ward;
-- WHERE that excludes a value of the key
SELECT ward, COUNT(*) AS n FROM visits WHERE ward <> 'er' GROUP BY ward;
-- WHERE the key is not NULL
SELECT ward, COUNT(*) AS n FROM visits WHERE ward IS NOT NULL GROUP BY ward;
-- WHERE the key is NULL
SELECT ward, COUNT(*) AS n FROM visits WHERE ward IS NULL GROUP BY ward HAVING n > 0;
-- a derived key by CASE
SELECT CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END AS k, COUNT(*) AS n FROM visits GROUP BY k;
-- a derived key by CASE with NULL
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' WHEN age >= 65 THEN 'senior' END AS g, COUNT(*) AS n FROM visits GROUP BY g ORDER BY g;
-- CASE over a column whose values are not listed: its results are
SELECT CASE WHEN cost < 100 THEN 'low' WHEN cost < 25000 THEN 'middle' ELSE 'high' END AS bracket, COUNT(*) AS n FROM visits GROUP BY 1;
-- ... and no result is NULL
SELECT CASE WHEN change < 0 THEN -1 ELSE 1 END AS direction, CASE WHEN cost > 100.5 THEN 2.5 END AS size, COUNT(*) AS n FROM visits GROUP BY 1, 2;
-- CASE of a key
SELECT CASE ward WHEN 'er' THEN 'emergency' ELSE ward END AS g, COUNT(*) AS n FROM visits GROUP BY g;
-- decades
SELECT age // 10 AS decade, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY decade HAVING n > 0;
-- decades by FLOOR
SELECT FLOOR(age / 10) AS decade, COUNT(*) AS n FROM visits GROUP BY decade;
-- the key written out twice
SELECT age // 10, COUNT(*) AS n FROM visits GROUP BY age // 10;
-- more computed from a key
SELECT age // 10 * 10 AS low, age // 10 * 10 + 9 AS high, COUNT(*) AS n FROM visits GROUP BY age // 10;
-- remainders
SELECT score % 3 AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- months
SELECT EXTRACT(month FROM day) AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- months by DATE_TRUNC
SELECT date_trunc('month', day) AS m, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY m HAVING n > 0 ORDER BY m;
-- weeks by DATE_TRUNC
SELECT date_trunc('week', day) AS w, COUNT(*) AS n FROM visits GROUP BY w ORDER BY w;
-- hours by DATE_TRUNC
SELECT date_trunc('hour', seen) AS h, COUNT(*) AS n FROM visits GROUP BY h ORDER BY h;
-- days of times
SELECT date_trunc('day', seen) AS d, COUNT(*) AS n FROM visits GROUP BY d ORDER BY d;
-- the weekday of a date
SELECT dayofweek(day) AS d, COUNT(*) AS n FROM visits GROUP BY d ORDER BY d;
-- quarters of the day
SELECT hour(seen) // 6 AS q, COUNT(*) AS n FROM visits GROUP BY q ORDER BY q;
-- a number from two fields
SELECT YEAR(day) * 100 + MONTH(day) AS ym, COUNT(*) AS n FROM visits GROUP BY ym ORDER BY ym;
-- a comparison as a key
SELECT age > 50 AS old, COUNT(*) AS n FROM visits GROUP BY old;
-- IS NULL and IS TRUE as keys
SELECT age IS NULL AS unknown, active IS TRUE AS on_duty, COUNT(*) AS n FROM visits GROUP BY unknown, on_duty;
-- IN and LIKE as keys
SELECT ward IN ('er', 'icu') AS acute, ward LIKE '%c%' AS c, COUNT(*) AS n FROM visits GROUP BY acute, c;
-- functions of text as keys
SELECT UPPER(ward) AS w, SUBSTRING(sex, 1, 1) AS s, COUNT(*) AS n FROM visits GROUP BY w, s;
-- concatenated keys
SELECT ward || '-' || sex AS k, COUNT(*) AS n FROM visits GROUP BY k;
-- CONCAT of keys
SELECT CONCAT(ward, '/', sex) AS k, COUNT(*) AS n FROM visits GROUP BY k;
-- LENGTH and SIGN as keys
SELECT LENGTH(ward) AS l, SIGN(score) AS s, COUNT(*) AS n FROM visits GROUP BY l, s;
-- NULLIF and COALESCE as keys
SELECT NULLIF(ward, 'er') AS a, COALESCE(ward, 'none') AS b, COUNT(*) AS n FROM visits GROUP BY a, b;
-- LEAST as a key
SELECT LEAST(age // 20, 3) AS k, COUNT(*) AS n FROM visits GROUP BY k;
-- a cast as a key
SELECT CAST(age AS VARCHAR) AS k, COUNT(*) AS n FROM visits WHERE age < 10 GROUP BY k;
-- buckets of a float by a cast to integers
SELECT CAST(cost / 10000 AS INT) AS bucket, COUNT(*) AS n FROM visits GROUP BY bucket;
-- keys that read the same column
SELECT age, age // 10 AS decade, COUNT(*) AS n FROM visits WHERE age >= 100 GROUP BY age, decade ORDER BY age;
-- a key and a function of the key
SELECT ward, UPPER(ward) AS loud, COUNT(*) AS n FROM visits GROUP BY ward;

-- bins of a float, by how it is rounded, named by their lower ends
SELECT FLOOR(cost / 1000) * 1000 AS bin, COUNT(*) AS n FROM visits GROUP BY bin;
-- the same as whole numbers
SELECT CAST(FLOOR(cost / 2500) AS BIGINT) * 2500 AS bin, COUNT(*) AS n FROM visits GROUP BY bin;
-- bins around tens of thousands, and up to multiples of five
SELECT ROUND(cost, -4) AS near, CEIL(change / 5) AS up, COUNT(*) AS n FROM visits GROUP BY ALL;

-- == HAVING

-- HAVING an alias
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 55;
-- HAVING an aggregate that is not shown
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING AVG(cost) > 20000 AND n > 0;
-- HAVING on a key
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING ward = 'er';
-- HAVING on a function of a key
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING UPPER(ward) IN ('ER', 'GP') AND ward IS NOT NULL;
-- HAVING with NOT, BETWEEN and IN
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING NOT n > 100 AND n BETWEEN 1 AND 1000 AND n NOT IN (2, 3);
-- HAVING without GROUP BY
SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) > 10;
-- HAVING that keeps nothing
SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) > 100000;
-- HAVING arithmetic
SELECT sex, SUM(cost) / COUNT(*) AS r FROM visits GROUP BY sex HAVING SUM(cost) / COUNT(*) > 100 ORDER BY sex;

-- == ORDER BY, LIMIT and OFFSET

-- by a key
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward;
-- by a key, descending
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward DESC;
-- NULLS FIRST
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward NULLS FIRST;
-- DESC NULLS FIRST
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward DESC NULLS FIRST;
-- DESC NULLS LAST
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward DESC NULLS LAST;
-- by an alias
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, ward;
-- by an alias in another case
SELECT ward AS W, COUNT(*) AS N FROM visits GROUP BY w ORDER BY n, w;
-- by an ordinal
SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 2 DESC, 1;
-- by an aggregate that is not shown
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY AVG(cost);
-- by an aggregate that is shown
SELECT sex, SUM(cost) AS s FROM visits GROUP BY sex ORDER BY SUM(cost) DESC;
-- by arithmetic of an alias
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n * -1, ward;
-- by arithmetic of an alias and a key
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n + LENGTH(sex) DESC;
-- an alias hides a column of its name
SELECT ward, -COUNT(*) AS age FROM visits GROUP BY ward ORDER BY age, ward;
-- in an expression a column goes before an alias of its name
SELECT sex AS ward, ward AS sex, COUNT(*) AS n FROM visits GROUP BY 1, 2 ORDER BY ward || '', sex || '';
-- by several, in different directions
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex ORDER BY sex DESC, ward NULLS FIRST;
-- ORDER BY ALL
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ALL ORDER BY ALL;
-- ORDER BY ALL DESC
SELECT sex, COUNT(*) AS n FROM visits GROUP BY ALL ORDER BY ALL DESC;
-- by a qualified name
SELECT v.ward, COUNT(*) AS n FROM visits AS v GROUP BY v.ward ORDER BY v.ward;
-- LIMIT
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n DESC LIMIT 1;
-- LIMIT with OFFSET
SELECT ward, sex, COUNT(*) AS n FROM visits WHERE ward IN ('er', 'gp', 'icu') GROUP BY ward, sex ORDER BY ward, sex LIMIT 2 OFFSET 1;
-- OFFSET alone
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY sex OFFSET 1;
-- OFFSET past the end
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY sex LIMIT 5 OFFSET 10;
-- LIMIT 0
SELECT COUNT(*) AS n FROM visits LIMIT 0;
-- LIMIT ALL
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY sex LIMIT ALL;
-- FETCH FIRST
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY sex FETCH FIRST 1 ROWS ONLY;
-- only the key, ordered by the count
SELECT sex FROM visits GROUP BY sex ORDER BY COUNT(*) DESC;

-- == the best groups, without their scores

-- the key with the largest count
SELECT sex FROM visits GROUP BY sex ORDER BY COUNT(*) DESC LIMIT 1;
-- the key with the smallest sum, computed with
SELECT UPPER(sex) AS s FROM visits GROUP BY sex ORDER BY SUM(age) LIMIT 1;
-- the best of the groups that HAVING leaves
SELECT "Home Zip" AS zip FROM visits GROUP BY 1 HAVING zip > 2 ORDER BY SUM(age) DESC LIMIT 1;
-- as many keys as there are, and more
SELECT "Home Zip" AS zip FROM visits GROUP BY zip ORDER BY SUM(score + 50) DESC LIMIT 9;
-- none of the keys
SELECT sex FROM visits GROUP BY sex ORDER BY COUNT(*) DESC LIMIT 0;
-- the second best key
SELECT "Home Zip" AS zip FROM visits GROUP BY zip ORDER BY SUM(age) DESC LIMIT 1 OFFSET 1;
-- the key that most units have
--: unit
SELECT sex FROM visits WHERE age < 20 GROUP BY sex ORDER BY COUNT(DISTINCT id) DESC LIMIT 1;
-- ARG_MAX of a key by a count
SELECT ARG_MAX(sex, n) FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex);
-- ARG_MIN of a key by a sum
SELECT ARG_MIN(zip, s) AS z FROM (SELECT "Home Zip" AS zip, SUM(age) AS s FROM visits GROUP BY 1) AS t;
-- ARG_MAX passes over NULL
SELECT ARG_MAX(ward, s) AS w FROM (SELECT ward, SUM(score + 50) AS s FROM visits GROUP BY ward);
-- MAX_BY and MIN_BY are ARG_MAX and ARG_MIN
WITH t AS (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) SELECT MAX_BY(sex, n) AS n FROM t;
-- MIN_BY among some of the groups, computed with
WITH t AS (SELECT "Home Zip" AS zip, SUM(age) AS s FROM visits GROUP BY 1)
SELECT MIN_BY(zip * 2, 3 * s) + 1 AS z FROM t WHERE zip <> 3;
-- ARG_MAX by a noisy mean
SELECT ARG_MAX(sex, m) FROM (SELECT sex, AVG(age) AS m FROM visits GROUP BY sex);
-- ARG_MAX among groups whose counts are large enough
SELECT ARG_MAX(sex, n) AS s FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) WHERE n > 5;
-- a SELECT that computes on ARG_MAX
SELECT LOWER(s) AS s FROM (
    SELECT ARG_MAX(sex, n) AS s FROM (SELECT sex, SUM(age) AS n FROM visits GROUP BY sex)
);
-- Spark's max_by
--: dialect spark
SELECT max_by(sex, n) AS s FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) t;

-- == names, aliases, comments and layout

-- quoted and mixed-case names
SELECT "Home Zip", Count(*) AS n, Avg("AGE") AS "Age" FROM "Visits" GROUP BY "home zip";
-- a quoted key and the same unquoted
SELECT "ward", "age" // 10 AS d, COUNT(*) AS n FROM visits GROUP BY ward, age // 10;
-- reserved words and spaces as aliases
SELECT COUNT(*) AS "select", SUM(age) AS "a b", AVG(age) AS "from" FROM visits;
-- a table alias
SELECT v.ward, COUNT(*) AS n FROM visits v WHERE v.age > 5 GROUP BY v.ward;
-- the table's own name as a qualifier
SELECT visits.ward, COUNT(visits.age) AS n FROM Visits GROUP BY visits.ward HAVING n > 0;
-- an alias used again in the list
SELECT COUNT(*) AS n, SUM(age) AS s, s / n AS r, n * 2 AS twice FROM visits;
-- an alias in WHERE
SELECT age + 1 AS a, COUNT(*) AS n FROM visits WHERE a BETWEEN 50 AND 60 GROUP BY a;
-- an alias that is also a column
SELECT COUNT(*) AS age, SUM(age) AS s, AVG(cost) AS cost FROM visits WHERE age > 50 AND cost > 1000;
-- aliases that trade places
SELECT sex AS ward, ward AS sex, COUNT(*) AS n FROM visits GROUP BY visits.ward, visits.sex ORDER BY ward, sex;
-- comments of both kinds
SELECT -- how many
    COUNT(*) AS n /* rows */, /* and
    */ AVG(age) AS a -- the mean age
FROM visits -- of the table
;
-- layout over many lines
SELECT
    ward,
    COUNT(*) AS n
FROM visits
WHERE
    age >= 18
    AND (
        sex = 'f'
        OR active
    )
GROUP BY ward
ORDER BY ward
;
-- FROM first
FROM visits SELECT COUNT(*);
-- a statement in parentheses
(SELECT COUNT(*) FROM visits);
-- SELECT ALL
SELECT ALL COUNT(*) FROM visits;
-- a trailing comma
SELECT COUNT(*), SUM(age), FROM visits;
-- names beyond ASCII
SELECT COUNT(*) AS "número", SUM(age) AS "日本", AVG(age) AS 🎉 FROM visits;
-- many conditions
SELECT COUNT(*) FROM visits WHERE age <> 1 AND age <> 2 AND age <> 3 AND age <> 4 AND age <> 5 AND age <> 6 AND age <> 7 AND age <> 8 AND age <> 9 AND age <> 10 AND age <> 11 AND age <> 12 AND age <> 13 AND age <> 14 AND age <> 15 AND age <> 16 AND age <> 17 AND age <> 18 AND age <> 19 AND age <> 20;
-- == keys that are not public, each of several units
-- a text without declared keys
--: private
SELECT name, COUNT(*) AS n FROM visits GROUP BY name;
-- its distinct values
--: private
SELECT DISTINCT name FROM visits;
-- distinct values of a column with keys
--: private
SELECT DISTINCT ward FROM visits;
-- distinct values in order
--: private
SELECT DISTINCT UPPER(name) AS big FROM visits WHERE age > 20 ORDER BY big DESC NULLS LAST LIMIT 3;
-- keys without aggregates
--: private
SELECT name FROM visits GROUP BY name ORDER BY name NULLS LAST;
-- private and public keys together
--: private
SELECT name, sex, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY name, sex;
-- two private keys that read one column
--: private
SELECT name, LENGTH(name) AS l, COUNT(*) AS n FROM visits GROUP BY name, l;
-- two private keys of two columns
--: private
SELECT LENGTH(name) AS l, id // 30 AS i, COUNT(*) AS n FROM visits GROUP BY l, i;
-- private keys, means and sums
--: private
SELECT LOWER(name) AS k, AVG(cost) AS m, SUM(score) AS s, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1 NULLS FIRST;
-- private keys with HAVING
--: private
SELECT name, COUNT(*) AS n FROM visits GROUP BY name HAVING n > 20 AND name <> 'bob' ORDER BY n DESC, name;
-- a private integer
--: private
SELECT id // 10 AS d, COUNT(*) AS n, COUNT(*) FILTER (WHERE active) AS a FROM visits GROUP BY d;
-- a private day
--: private
SELECT CAST(seen AS DATE) AS d, COUNT(*) AS n FROM visits GROUP BY d;
-- a private timestamp
--: private
SELECT DATE_TRUNC('day', seen) AS d, name, COUNT(*) AS n FROM visits WHERE name IN ('Ann', 'bob') GROUP BY ALL;
-- a private boolean beside a private text
--: private
SELECT name, name < 'b' AS early, COUNT(*) AS n FROM visits GROUP BY ALL;
-- NULL is a private key like any other
--: private
SELECT name, COUNT(*) AS n FROM visits WHERE name IS NULL OR name LIKE '%b%' GROUP BY name;
-- == keys that WHERE lists
-- a list of texts
SELECT name, COUNT(*) AS n FROM visits WHERE name IN ('Ann', 'bob', '日本') GROUP BY name;
-- a list with NULL
SELECT name, COUNT(*) AS n FROM visits WHERE name IN ('Ann', NULL) GROUP BY name;
-- one text
SELECT name, COUNT(*) AS n FROM visits WHERE name = 'it''s' AND age > 10 GROUP BY name;
-- texts connected by OR
SELECT name, COUNT(*) AS n FROM visits WHERE name = 'Ann' OR 'bob' = name OR name IN ('', ' Cy ') GROUP BY name;
-- a text, or NULL
SELECT name, COUNT(*) AS n FROM visits WHERE name = 'Ann' OR name IS NULL GROUP BY name;
-- only NULL
SELECT name, sex, COUNT(*) AS n FROM visits WHERE name IS NULL GROUP BY name, sex;
-- keys derived from a list
SELECT UPPER(name) AS k, sex, COUNT(*) AS n FROM visits WHERE name IN ('Ann', 'bob') GROUP BY k, sex;
-- a list for each of two columns
SELECT name, id % 5 AS i, COUNT(*) AS n FROM visits WHERE name IN ('Ann', 'bob') AND id IN (1, 2, 3, 4) GROUP BY ALL;
-- a condition that narrows both sides of OR
SELECT name, COUNT(*) AS n FROM visits WHERE (name = 'Ann' AND age > 20) OR (name = 'bob' AND sex = 'f') GROUP BY name;
-- == several groupings
-- a rollup
SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (sex, ward);
-- a rollup in order
SELECT sex, ward, SUM(age) AS s, COUNT(*) AS n FROM visits GROUP BY ROLLUP (sex, ward) ORDER BY GROUPING(sex), GROUPING(ward), sex, ward NULLS LAST;
-- a cube
SELECT sex, ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY CUBE (sex, ward);
-- a cube of expressions
SELECT age // 50 AS h, sex, COUNT(*) AS n FROM visits GROUP BY CUBE (age // 50, sex);
-- a cube of aliases
SELECT age // 50 AS h, UPPER(sex) AS u, COUNT(*) AS n FROM visits GROUP BY CUBE (h, u);
-- grouping sets
SELECT sex, ward, active, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((sex, ward), (active), ());
-- grouping sets without parentheses
SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS (sex, ward);
-- a rollup beside a key
SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY sex, ROLLUP (ward);
-- two rollups
SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (sex), ROLLUP (ward);
-- a rollup of pairs
SELECT sex, ward, active, COUNT(*) AS n FROM visits GROUP BY ROLLUP ((sex, ward), active);
-- a rollup inside grouping sets
SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS (ROLLUP (sex), (ward));
-- GROUPING of one key and of two
SELECT sex, ward, COUNT(*) AS n, GROUPING(ward) AS g, GROUPING(sex, ward) AS h, GROUPING_ID(ward, sex) AS i FROM visits GROUP BY CUBE (sex, ward);
-- GROUPING in HAVING
SELECT sex, ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (sex, ward) HAVING GROUPING(ward) = 1 AND n > 5;
-- GROUPING in CASE
SELECT CASE WHEN GROUPING(sex) = 1 THEN 'all' ELSE sex END AS who, COUNT(*) AS n FROM visits GROUP BY ROLLUP (sex);
-- a total beside months
SELECT MONTH(day) AS m, COUNT(*) AS n, SUM(score) AS s FROM visits WHERE sex = 'f' GROUP BY ROLLUP (m);
-- a key that is NULL in the data, and in totals
SELECT active, COUNT(*) AS n, GROUPING(active) AS g FROM visits GROUP BY ROLLUP (active);
-- COALESCE of a key that totals lack
SELECT COALESCE(sex, 'all') AS who, COUNT(*) AS n FROM visits GROUP BY ROLLUP (sex) HAVING sex IS NULL OR n > 10;
-- units in a rollup
--: unit
SELECT sex, COUNT(DISTINCT id) AS n, COUNT(*) AS r FROM visits GROUP BY ROLLUP (sex);
-- no grouping but the whole
SELECT COUNT(*) AS n FROM visits GROUP BY GROUPING SETS (());
-- a rollup of a private key
--: private
SELECT name, sex, COUNT(*) AS n FROM visits GROUP BY ROLLUP (sex, name);
-- a cube of a private and a public key
--: private
SELECT name, sex, COUNT(*) AS n, SUM(age) AS s, GROUPING(name) AS g FROM visits GROUP BY CUBE (name, sex);
-- grouping sets of two private keys
--: private
SELECT LENGTH(name) AS l, id // 30 AS i, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((l), (i), ());

-- == arithmetic of dates

-- a date plus an interval is a timestamp
SELECT COUNT_IF(day + INTERVAL 1 DAY > '2024-06-01'), COUNT_IF(day - INTERVAL '3' MONTH < DATE '2024-01-01'), COUNT_IF(INTERVAL 1 YEAR + day >= DATE '2025-03-01') FROM visits;
-- every unit of an interval
SELECT COUNT_IF(day + INTERVAL '2' WEEK > '2024-06-01'), COUNT_IF(day + INTERVAL 1 QUARTER > '2024-06-01'), COUNT_IF(day + INTERVAL 1 YEAR > '2025-06-01'), COUNT_IF(day + INTERVAL 1 DECADE > '2034-06-01') FROM visits;
-- hours, minutes and seconds
SELECT COUNT_IF(seen + INTERVAL 36 HOUR > '2024-03-03'), COUNT_IF(seen - INTERVAL '90' MINUTE < '2024-03-02'), COUNT_IF(seen + INTERVAL 59 SECOND > '2024-03-02'), COUNT_IF(day + INTERVAL 1 HOUR > day) FROM visits;
-- an interval of several units
SELECT COUNT_IF(day + INTERVAL '1 month 2 days' > '2024-06-01'), COUNT_IF(day - INTERVAL '1 year 2 hours' < '2023-06-01') FROM visits;
-- months end where a shorter month ends
SELECT COUNT_IF(DAY(day + INTERVAL 1 MONTH) = DAY(day)), SUM(DAY(day - INTERVAL 1 MONTH)), SUM(MONTH(day + INTERVAL 13 MONTH)) FROM visits;
-- intervals one after the other
SELECT COUNT_IF(day + INTERVAL 1 MONTH - INTERVAL 1 DAY > '2024-06-01'), COUNT_IF((day - INTERVAL 1 DAY) + INTERVAL 1 MONTH > '2024-06-01') FROM visits;
-- constants plus intervals
SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-01-01' + INTERVAL '3' MONTH AND day < DATE '2024-12-31' - INTERVAL '90' DAY;
-- a range that begins at a constant
SELECT COUNT(*), AVG(age) FROM visits WHERE day BETWEEN DATE '2024-02-01' AND DATE '2024-02-01' + INTERVAL 1 MONTH - INTERVAL 1 DAY;
-- DATE_ADD
SELECT COUNT_IF(date_add(day, INTERVAL 5 DAY) > '2024-06-01') FROM visits;
-- a date plus days is a date
SELECT COUNT_IF(day + 30 > '2024-06-01'), COUNT_IF(day - 30 < '2024-06-01'), COUNT_IF(day + age::INT > '2024-06-01'), COUNT_IF(day - score < DATE '2024-06-01') FROM visits;
-- days plus a date are a date too
SELECT COUNT_IF(30 + day > '2024-06-01'), COUNT_IF(-30 + day < '2024-06-01'), COUNT_IF(age::INT + day > '2024-06-01'), SUM(DAY(score::INT + day)) FROM visits;
-- days between dates
SELECT SUM(day - DATE '2024-01-01'), AVG(DATE '2024-12-31' - day), COUNT_IF(day - CAST(seen AS DATE) > 0) FROM visits;
-- DATE_DIFF in days and longer
SELECT SUM(DATE_DIFF('day', day, DATE '2024-12-31')), SUM(DATE_DIFF('week', day, DATE '2024-07-03')), SUM(DATE_DIFF('month', DATE '2023-11-15', day)), SUM(DATE_DIFF('quarter', day, DATE '2026-01-01')), SUM(DATE_DIFF('year', day, DATE '2030-01-01')) FROM visits;
-- DATE_DIFF in hours and shorter
SELECT SUM(DATE_DIFF('hour', seen, TIMESTAMP '2024-03-02 12:30:00')), SUM(DATEDIFF('minute', TIMESTAMP '2024-03-01 00:00:30', seen)), AVG(DATE_DIFF('second', TIMESTAMP '2024-03-01 00:00:00', seen)) FROM visits;
-- DATE_DIFF between columns
SELECT SUM(DATE_DIFF('day', day, seen)), SUM(DATE_DIFF('month', seen, day)), COUNT_IF(DATE_DIFF('hour', day, seen) > 0) FROM visits;
-- DATE_DIFF as a key
SELECT DATE_DIFF('month', DATE '2024-01-01', day) AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- weeks since a day, as a key
SELECT DATE_DIFF('week', DATE '2024-01-01', day) AS w, COUNT(*) AS n FROM visits GROUP BY w ORDER BY w;
-- a shifted date as a key
SELECT date_trunc('month', day + INTERVAL 15 DAY) AS m, COUNT(*) AS n FROM visits GROUP BY m HAVING n > 0;
-- LAST_DAY
SELECT COUNT_IF(last_day(day) = day), SUM(DAY(last_day(day))), COUNT_IF(last_day(seen) = DATE '2024-03-31') FROM visits;
-- LAST_DAY as a key
SELECT last_day(day) AS d, COUNT(*) AS n FROM visits GROUP BY d;
-- EXTRACT of longer fields
SELECT SUM(EXTRACT(isoyear FROM day)), SUM(EXTRACT(decade FROM day)), SUM(EXTRACT(century FROM day)), SUM(EXTRACT(millennium FROM day)), SUM(EXTRACT(yearweek FROM day)) FROM visits;
-- EXTRACT of shorter fields
SELECT SUM(EXTRACT(millisecond FROM seen)), SUM(EXTRACT(microseconds FROM seen)), AVG(millisecond(seen)) FROM visits;
-- functions named after longer fields
SELECT SUM(isoyear(day)), SUM(decade(day)), SUM(century(day)), SUM(yearweek(day)) FROM visits;
-- ISO weeks as a key
SELECT yearweek(day) AS w, COUNT(*) AS n FROM visits GROUP BY w;
-- seconds since 1970
SELECT AVG(EXTRACT(epoch FROM seen)), AVG(epoch(seen)), AVG(date_part('epoch', day)) FROM visits;
-- DATE_TRUNC to longer units
SELECT COUNT_IF(date_trunc('decade', day) = '2020-01-01'), COUNT_IF(date_trunc('century', day) = '2000-01-01'), COUNT_IF(date_trunc('millennium', seen) = '2000-01-01'), COUNT_IF(date_trunc('quarter', day) = '2024-04-01'), COUNT_IF(date_trunc('year', seen) = '2024-01-01') FROM visits;
-- DATE_TRUNC to shorter units
SELECT COUNT_IF(date_trunc('minute', seen) = date_trunc('second', seen)), COUNT_IF(date_trunc('millisecond', seen) = seen), COUNT_IF(date_trunc('microseconds', seen) = seen) FROM visits;
-- quarters by DATE_TRUNC
SELECT date_trunc('quarter', day) AS q, COUNT(*) AS n FROM visits GROUP BY q;
-- decades by DATE_TRUNC
SELECT date_trunc('decade', day) AS d, COUNT(*) AS n FROM visits GROUP BY d;
-- months written out
SELECT strftime(day, '%Y-%m') AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- days of a timestamp written out
SELECT strftime(seen, '%d.%m.%Y') AS d, COUNT(*) AS n FROM visits GROUP BY d ORDER BY d;
-- weeks and weekdays written out
SELECT strftime(day, '%G-W%V') AS w, COUNT(*) AS n FROM visits GROUP BY w;
-- times written out
SELECT COUNT_IF(strftime(seen, '%H:%M') < '12:00'), COUNT_IF(strftime(seen, '%I %p') = '03 PM'), COUNT_IF(strftime(seen, '%y%j%S%%') = '24061%') FROM visits;
-- names of weekdays
SELECT dayname(day) AS d, COUNT(*) AS n FROM visits GROUP BY d;
-- names of months
SELECT monthname(seen) AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- a timestamp as a date, as a key
SELECT CAST(seen AS DATE) AS d, COUNT(*) AS n FROM visits GROUP BY d;
-- DATE(x)
SELECT COUNT_IF(date(seen) = DATE '2024-03-02'), COUNT_IF(date('2024-03-02') = seen::DATE) FROM visits;
-- weekday and hour together
SELECT EXTRACT(isodow FROM seen) AS d, EXTRACT(hour FROM seen) // 8 AS shift, COUNT(*) AS n FROM visits GROUP BY d, shift;

-- == patterns

-- ILIKE
SELECT COUNT_IF(name ILIKE 'ANN'), COUNT_IF(name ILIKE '%B'), COUNT_IF(name NOT ILIKE 'a%'), COUNT_IF(name ILIKE 'dÉ'), COUNT_IF(ward ILIKE '_R') FROM visits;
-- ILIKE as a key
SELECT ward ILIKE 'E%' AS e, COUNT(*) AS n FROM visits GROUP BY e;
-- LIKE with ESCAPE
SELECT COUNT_IF(name LIKE 'a!_b%' ESCAPE '!'), COUNT_IF(name LIKE '%!%%' ESCAPE '!'), COUNT_IF(name NOT LIKE '%!_%' ESCAPE '!'), COUNT_IF(name LIKE 'a\_b%' ESCAPE '\') FROM visits;
-- a regular expression anywhere
SELECT COUNT_IF(regexp_matches(name, 'n+')), COUNT_IF(regexp_matches(name, '^[A-Z]')), COUNT_IF(regexp_matches(name, 'b$')), COUNT_IF(NOT regexp_matches(name, '^.{2,3}$')) FROM visits;
-- a regular expression by its operators
SELECT COUNT_IF(name ~ 'n'), COUNT_IF(name !~ '^b'), COUNT_IF(name SIMILAR TO '[a-z]+'), COUNT_IF(name NOT SIMILAR TO 'b.b') FROM visits;
-- a regular expression of the whole text
SELECT COUNT_IF(regexp_full_match(name, '[A-Za-z]*')), COUNT_IF(regexp_full_match(name, '(Ann|bob)')), COUNT_IF(regexp_full_match(name, '')) FROM visits;
-- classes and repetitions
SELECT COUNT_IF(name ~ '\w{3}'), COUNT_IF(name ~ '\s'), COUNT_IF(name ~ '^\W*$'), COUNT_IF(name ~ '[^a-zA-Z]'), COUNT_IF(name ~ '[[:punct:]]'), COUNT_IF(name ~ '\bC'), COUNT_IF(name ~ 'a_b\%c'), COUNT_IF(name ~ '^(?:A|D).+?$') FROM visits;
-- regular expressions without regard to case
SELECT COUNT_IF(regexp_matches(name, '^a', 'i')), COUNT_IF(regexp_matches(name, '[a-c]N', 'i')), COUNT_IF(regexp_matches(name, '(?i)BOB')), COUNT_IF(regexp_matches(name, 'a.b', 's')) FROM visits;
-- a regular expression beyond ASCII
SELECT COUNT_IF(name ~ 'é$'), COUNT_IF(name ~ '^[日月]'), COUNT_IF(name ~ '^..$') FROM visits;
-- a regular expression of a key
SELECT ward ~ '^i' AS i, COUNT(*) AS n FROM visits GROUP BY i;
-- prefixes and suffixes
SELECT COUNT_IF(prefix(name, 'A')), COUNT_IF(suffix(name, 'b')), COUNT_IF(name ^@ 'bo') FROM visits;

-- == more text

-- positions
SELECT COUNT_IF(position('b' IN name) = 1), COUNT_IF(strpos(name, 'n') = 2), COUNT_IF(instr(name, '本') = 2), SUM(strpos(ward, 'c')) FROM visits;
-- RIGHT
SELECT COUNT_IF(RIGHT(name, 1) = 'n'), COUNT_IF(RIGHT(name, 2) = '日本'), COUNT_IF(RIGHT(name, 0) = '') FROM visits;
-- LPAD and RPAD
SELECT COUNT_IF(LPAD(name, 5, '*') = '**bob'), COUNT_IF(RPAD(name, 2, ' ') = 'An'), COUNT_IF(LPAD(age::VARCHAR, 3, '0') < '050') FROM visits;
-- padded keys
SELECT LPAD(CAST(age // 10 AS VARCHAR), 2, '0') AS decade, COUNT(*) AS n FROM visits GROUP BY decade ORDER BY decade;
-- SPLIT_PART
SELECT COUNT_IF(split_part(name, '_', 1) = 'a'), COUNT_IF(split_part(name, 'o', 2) = 'b'), COUNT_IF(split_part(name, ',', 3) = '') FROM visits;
-- text in pieces as a key
SELECT LEFT(ward, 1) || RIGHT(ward, 1) AS k, COUNT(*) AS n FROM visits GROUP BY k;

-- == more numbers

-- TRUNC
SELECT SUM(TRUNC(change)), SUM(TRUNC(cost)), SUM(TRUNC(age)), SUM(TRUNC(-change)) FROM visits;
-- logarithms to a base
SELECT SUM(LOG10(cost + 1)), SUM(LOG2(age + 1)), SUM(LOG(cost + 1)), SUM(LOG(2, age + 1)) FROM visits;
-- powers of ten by their logarithm
SELECT FLOOR(LOG10(age + 1)) AS digits, COUNT(*) AS n FROM visits GROUP BY digits;
-- angles
SELECT COUNT_IF(DEGREES(change) > 90), SUM(RADIANS(age)), SUM(SIN(change)), SUM(COS(age)), SUM(ATAN(change)), SUM(PI() * age) FROM visits;
-- SIGN and TRUNC as keys
SELECT SIGN(score) AS s, TRUNC(score / 20) AS t, COUNT(*) AS n FROM visits GROUP BY s, t;

-- == booleans as numbers

-- AVG of a boolean is a share
--= SELECT AVG(active::INT), AVG((age > 50)::INT), AVG((ward = 'er')::INT) FROM visits
SELECT AVG(active), AVG(age > 50), AVG((ward = 'er')::INT) FROM visits;
-- a share in groups
--= SELECT sex, AVG(active::INT) AS share, SUM(active) AS number, COUNT(*) AS n FROM visits GROUP BY sex
SELECT sex, AVG(active) AS share, SUM(active) AS number, COUNT(*) AS n FROM visits GROUP BY sex;
-- SUM of a condition
SELECT SUM(age > 50), SUM(name LIKE 'A%'), SUM(ward IN ('er', 'gp') AND active), SUM(NOT active) FROM visits;
-- booleans in arithmetic
SELECT SUM(active::INT * age), SUM(CASE WHEN active THEN 1 ELSE 0 END + score) FROM visits;

-- == more choices

-- NVL and IFNULL
--= SELECT SUM(COALESCE(age, 1)), SUM(IFNULL(score, 0)), COUNT(COALESCE(ward, name, 'none')) FROM visits
SELECT SUM(NVL(age, 1)), SUM(IFNULL(score, 0)), COUNT(COALESCE(ward, name, 'none')) FROM visits;
-- NVL2
--= SELECT SUM(IF(age IS NOT NULL, 1, 2)), SUM(IF(ward IS NOT NULL, score, 0)) FROM visits
SELECT SUM(NVL2(age, 1, 2)), SUM(NVL2(ward, score, 0)) FROM visits;
-- IS DISTINCT FROM between columns
SELECT COUNT_IF(age IS DISTINCT FROM score), COUNT_IF(ward IS NOT DISTINCT FROM sex), COUNT_IF(day IS DISTINCT FROM seen::DATE) FROM visits;
-- CASE on ranges of dates
SELECT CASE WHEN day < '2024-04-01' THEN 'spring' WHEN day < '2024-09-01' THEN 'summer' ELSE 'winter' END AS season, COUNT(*) AS n FROM visits GROUP BY season;
-- CASE on a weekday
SELECT CASE WHEN EXTRACT(isodow FROM day) >= 6 THEN 'weekend' WHEN day IS NOT NULL THEN 'week' END AS k, COUNT(*) AS n FROM visits GROUP BY k;
-- TRY_CAST in a condition
SELECT COUNT(*) FROM visits WHERE TRY_CAST(name AS INT) IS NULL AND TRY_CAST(age AS VARCHAR) IS NOT NULL;

-- == more clauses

-- HAVING an alias that is arithmetic
SELECT ward, SUM(age) / COUNT(*) AS mean FROM visits GROUP BY ward HAVING mean > 10 AND COUNT(*) > 0 ORDER BY ward;
-- an alias inside a CASE in HAVING
SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex HAVING CASE WHEN n > 10 THEN TRUE ELSE FALSE END;
-- an alias in another item of the list
SELECT MONTH(day) AS m, m > 6 AS late, COUNT(*) AS n FROM visits GROUP BY ALL;
-- GROUP BY an ordinal and a name
SELECT MONTH(day) AS m, sex, COUNT(*) AS n FROM visits GROUP BY 1, sex;
-- GROUP BY ALL with expressions of keys
SELECT age // 25 AS quarter, UPPER(sex) AS s, COUNT(*) AS n FROM visits GROUP BY ALL;
-- ORDER BY ordinals in both directions
SELECT sex, active, COUNT(*) AS n FROM visits GROUP BY 1, 2 ORDER BY 1 DESC, 2 NULLS FIRST;
-- ORDER BY a date, descending
SELECT date_trunc('quarter', day) AS q, COUNT(*) AS n FROM visits GROUP BY q ORDER BY q DESC NULLS LAST LIMIT 3;
-- ORDER BY the name of a weekday
SELECT dayname(day) AS d, isodow(day) AS i, COUNT(*) AS n FROM visits GROUP BY d, i ORDER BY i LIMIT 5;
-- comments inside expressions
SELECT SUM(age /* years */ + /* months */ 1) AS s, COUNT(*) -- all of them
    AS n FROM /* the table */ visits;
-- a quoted alias in ORDER BY
SELECT sex AS "The Sex", COUNT(*) AS "How Many" FROM visits GROUP BY "The Sex" ORDER BY "How Many" DESC, "The Sex";
-- mixed case everywhere
SeLeCt WARD aS Ward, CoUnT(*) As N FrOm ViSiTs gRoUp By wArD hAvInG n > 0 oRdEr By WARD;
-- a table alias that is the name of a column
SELECT age.ward, COUNT(age.age) AS n FROM visits AS age GROUP BY age.ward HAVING n > 0;

-- == other dialects

-- PostgreSQL divides integers as integers
--: dialect postgres
--= SELECT SUM(age // 10), SUM(score // 7), SUM(cost / 10), COUNT(*) // 7 FROM visits
SELECT SUM(age / 10), SUM(score / 7), SUM(cost / 10), COUNT(*) / 7 FROM visits;
-- PostgreSQL's regular expressions
--: dialect postgres
--= SELECT COUNT_IF(regexp_matches(name, '^a')), COUNT_IF(regexp_matches(name, '^a', 'i')), COUNT_IF(NOT regexp_matches(name, 'n')) FROM visits
SELECT COUNT(*) FILTER (WHERE name ~ '^a'), COUNT(*) FILTER (WHERE name ~* '^a'), COUNT(*) FILTER (WHERE name !~ 'n') FROM visits;
-- a backslash escapes in PostgreSQL's patterns
--: dialect postgres
--= SELECT COUNT_IF(name LIKE 'a\_b%' ESCAPE '\'), COUNT_IF(name ILIKE 'A%') FROM visits
SELECT COUNT(*) FILTER (WHERE name LIKE 'a\_b%'), COUNT(*) FILTER (WHERE name ILIKE 'A%') FROM visits;
-- PostgreSQL's dates
--: dialect postgres
--= SELECT date_trunc('month', day) AS m, SUM(day - DATE '2024-01-01') AS d, COUNT(*) AS n FROM visits WHERE day >= DATE '2024-01-15' + INTERVAL '1 month' GROUP BY 1 ORDER BY 1
SELECT date_trunc('month', day) AS m, SUM(day - DATE '2024-01-01') AS d, COUNT(*) AS n FROM visits WHERE day >= DATE '2024-01-15' + INTERVAL '1 month' GROUP BY 1 ORDER BY 1;
-- PostgreSQL's DATE_PART, and casts that round half to even
--: dialect postgres
--= SELECT SUM(date_part('dow', day)), SUM(CAST(change AS INT)), SUM(cost::BIGINT) FROM visits
SELECT SUM(date_part('dow', day)), SUM(CAST(change AS INT)), SUM(cost::bigint) FROM visits;
-- a sum of PostgreSQL's BIGINT is no integer, so its quotients are none
--: dialect postgres
--= SELECT SUM(age) / COUNT(*), COUNT(*) // 7 FROM visits
SELECT SUM(age) / COUNT(*), COUNT(*) / 7 FROM visits;
-- PostgreSQL writes dates by TO_CHAR
--: dialect postgres
--= SELECT strftime(day, '%Y-%m') AS m, COUNT(*) AS n FROM visits GROUP BY m
SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- NULL sorts last in PostgreSQL, and first when descending
--: dialect postgres
--= SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward DESC NULLS FIRST
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward DESC;
-- Spark's backticks and double quotes
--: dialect spark
--= SELECT "Home Zip", COUNT(*) AS n FROM visits WHERE ward = 'er' GROUP BY 1
SELECT `Home Zip`, COUNT(*) AS n FROM visits WHERE ward = "er" GROUP BY 1;
-- Spark's division and DIV
--: dialect spark
--= SELECT SUM(age / 10), SUM(age // 10), SUM(score % 7) FROM visits
SELECT SUM(age / 10), SUM(age DIV 10), SUM(score % 7) FROM visits;
-- Spark's casts cut off
--: dialect spark
--= SELECT SUM(CAST(TRUNC(change) AS INT)), SUM(CAST(TRUNC(cost) AS BIGINT)), SUM(CAST(active AS INT)) FROM visits
SELECT SUM(CAST(change AS INT)), SUM(CAST(cost AS BIGINT)), SUM(CAST(active AS INT)) FROM visits;
-- Spark's dates
--: dialect spark
--= SELECT SUM(day - DATE '2024-01-01'), COUNT_IF(day + 5 > DATE '2024-06-01'), COUNT_IF(day - 5 > DATE '2024-06-01'), COUNT_IF(day + INTERVAL 1 MONTH > DATE '2024-06-01') FROM visits
SELECT SUM(DATEDIFF(day, DATE '2024-01-01')), COUNT_IF(DATE_ADD(day, 5) > DATE '2024-06-01'), COUNT_IF(DATE_SUB(day, 5) > DATE '2024-06-01'), COUNT_IF(ADD_MONTHS(day, 1) > DATE '2024-06-01') FROM visits;
-- in Spark, Sunday is 1
--: dialect spark
--= SELECT dayofweek(day) + 1 AS d, COUNT(*) AS n FROM visits GROUP BY d
SELECT DAYOFWEEK(day) AS d, COUNT(*) AS n FROM visits GROUP BY d;
-- Spark's RLIKE, and CONCAT that NULL empties
--: dialect spark
--= SELECT COUNT_IF(regexp_matches(name, '^A')), COUNT(ward || sex) FROM visits
SELECT COUNT_IF(name RLIKE '^A'), COUNT(CONCAT(ward, sex)) FROM visits;
-- NULL sorts first in Spark
--: dialect spark
--= SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward NULLS FIRST
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward;
-- Spark's moments are those of the rows themselves, and STD is that of a sample
--: dialect spark
--= SELECT SKEWNESS(age) * (COUNT(age) - 2) / SQRT(COUNT(age) * (COUNT(age) - 1)), KURTOSIS_POP(age), STDDEV_SAMP(cost), AVG(cost), SUM(score) FROM visits
SELECT SKEWNESS(age), KURTOSIS(age), STD(cost), TRY_AVG(cost), TRY_SUM(score) FROM visits;
-- a percentile lies between two values in Spark
--: dialect spark
--= SELECT QUANTILE_CONT(age, 0.25) AS a, QUANTILE_CONT(score, 0.5) AS b FROM visits
SELECT PERCENTILE(age, 0.25) AS a, PERCENTILE(score, 0.5) AS b FROM visits;
-- Spark's formats of dates
--: dialect spark
--= SELECT strftime(day, '%Y-%m') AS m, COUNT(*) AS n FROM visits GROUP BY m
SELECT DATE_FORMAT(day, 'yyyy-MM') AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- timestamps of Spark are in one zone
--: dialect spark
--= SELECT COUNT(*) FROM visits WHERE seen >= TIMESTAMP '2024-03-02 12:00:00'
SELECT COUNT(*) FROM visits WHERE seen >= TIMESTAMP '2024-03-02 12:00:00';
-- Databricks is Spark
--: dialect databricks
--= SELECT YEAR(day) AS y, MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY ALL
SELECT YEAR(day) AS y, MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY ALL;
-- BigQuery's names and functions
--: dialect bigquery
--= SELECT COUNT_IF(active), SUM(age // 10), SUM(COALESCE(age, 0)), COUNT(age / score), SUM(CAST(ROUND(change) AS BIGINT)) FROM visits
SELECT COUNTIF(active), SUM(DIV(age, 10)), SUM(IFNULL(age, 0)), COUNT(SAFE_DIVIDE(age, score)), SUM(CAST(change AS INT64)) FROM `visits`;
-- BigQuery keeps dates
--: dialect bigquery
--= SELECT CAST(date_trunc('month', day) AS DATE) AS m, COUNT(*) AS n FROM visits GROUP BY m
SELECT DATE_TRUNC(day, MONTH) AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- BigQuery's weeks
--: dialect bigquery
--= SELECT CAST(date_trunc('week', day) AS DATE) AS w, COUNT(*) AS n FROM visits GROUP BY w
SELECT DATE_TRUNC(day, ISOWEEK) AS w, COUNT(*) AS n FROM visits GROUP BY w;
-- BigQuery's dates
--: dialect bigquery
--= SELECT SUM(DATE_DIFF('month', DATE '2023-05-01', day)), COUNT_IF(day + INTERVAL 1 MONTH > DATE '2024-06-01'), COUNT_IF(day - INTERVAL 2 WEEK > DATE '2024-06-01'), SUM(dayofweek(day) + 1) FROM visits
SELECT SUM(DATE_DIFF(day, DATE '2023-05-01', MONTH)), COUNTIF(DATE_ADD(day, INTERVAL 1 MONTH) > '2024-06-01'), COUNTIF(DATE_SUB(day, INTERVAL 2 WEEK) > '2024-06-01'), SUM(EXTRACT(DAYOFWEEK FROM day)) FROM visits;
-- BigQuery's regular expressions and texts
--: dialect bigquery
--= SELECT COUNT_IF(regexp_matches(name, '^\w+$')), COUNT_IF(starts_with(name, 'A')), COUNT_IF(LENGTH(name) = 2) FROM visits
SELECT COUNTIF(REGEXP_CONTAINS(name, r'^\w+$')), COUNTIF(STARTS_WITH(name, 'A')), COUNTIF(LENGTH(name) = 2) FROM visits;
-- BigQuery's quantiles, all of them or the one at a place
--: dialect bigquery
--= SELECT QUANTILE_DISC(age, 0.5) AS m, QUANTILE_DISC(score, 0.75) AS q FROM visits
SELECT APPROX_QUANTILES(age, 100)[OFFSET(50)] AS m, APPROX_QUANTILES(score, 4)[SAFE_ORDINAL(4)] AS q FROM visits;
-- LEAST with NULL is NULL in BigQuery
--: dialect bigquery
--= SELECT SUM(IF(age IS NULL, NULL, LEAST(age, score))), COUNT(IF(age IS NULL, NULL, 1)) FROM visits
SELECT SUM(LEAST(age, score)), COUNT(GREATEST(age, 5)) FROM visits;
-- Snowflake's functions
--: dialect snowflake
--= SELECT SUM(IF(active, 1, 0)), SUM(COALESCE(age, 0)), COUNT_IF(contains(name, 'n')), COUNT_IF(starts_with(name, 'A')), SUM(IF(ward = 'er', 1, IF(ward = 'gp', 2, 3))) FROM visits
SELECT SUM(IFF(active, 1, 0)), SUM(NVL(age, 0)), COUNT_IF(CONTAINS(name, 'n')), COUNT_IF(STARTSWITH(name, 'A')), SUM(DECODE(ward, 'er', 1, 'gp', 2, 3)) FROM visits;
-- Snowflake's dates
--: dialect snowflake
--= SELECT CAST(date_trunc('quarter', day) AS DATE) AS q, SUM(DATE_DIFF('day', DATE '2024-01-01', day)) AS d, COUNT_IF(day + INTERVAL 5 DAY > DATE '2024-06-01') AS c, COUNT(*) AS n FROM visits WHERE day IS NOT NULL GROUP BY q
SELECT DATE_TRUNC('quarter', day) AS q, SUM(DATEDIFF('day', DATE '2024-01-01', day)) AS d, COUNT_IF(DATEADD(day, 5, day) > DATE '2024-06-01') AS c, COUNT(*) AS n FROM visits WHERE day IS NOT NULL GROUP BY q;
-- Snowflake's names of months and days have three letters
--: dialect snowflake
--= SELECT strftime(day, '%b') AS m, strftime(day, '%a') AS d, COUNT(*) AS n FROM visits GROUP BY m, d
SELECT MONTHNAME(day) AS m, DAYNAME(day) AS d, COUNT(*) AS n FROM visits GROUP BY m, d;
-- Snowflake's formats of dates
--: dialect snowflake
--= SELECT strftime(day, '%Y-%m') AS m, COUNT(*) AS n FROM visits GROUP BY m
SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) AS n FROM visits GROUP BY m;
-- Snowflake's RLIKE is about the whole text
--: dialect snowflake
--= SELECT COUNT_IF(regexp_full_match(name, '[A-Z].*')), COUNT_IF(name ILIKE 'a%') FROM visits
SELECT COUNT_IF(name RLIKE '[A-Z].*'), COUNT_IF(name ILIKE 'a%') FROM visits;
-- MySQL's operators
--: dialect mysql
--= SELECT COUNT_IF(active OR age > 50), COUNT_IF(active AND age > 50), COUNT_IF(active <> (age > 50)), SUM(age // 10), COUNT_IF(ward IS NOT DISTINCT FROM 'er') FROM visits
SELECT SUM(active || age > 50), SUM(active && age > 50), SUM(active XOR age > 50), SUM(age DIV 10), SUM(ward <=> 'er') FROM visits;
-- MySQL's dates
--: dialect mysql
--= SELECT SUM(day - DATE '2024-01-01'), SUM((day + INTERVAL 1 MONTH > DATE '2024-06-01')::INT), SUM(dayofweek(day) + 1) FROM visits
SELECT SUM(DATEDIFF(day, DATE '2024-01-01')), SUM(DATE_ADD(day, INTERVAL 1 MONTH) > DATE '2024-06-01'), SUM(DAYOFWEEK(day)) FROM visits;
-- NULL sorts first in MySQL
--: dialect mysql
--= SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward NULLS FIRST
SELECT `ward`, COUNT(*) AS n FROM `visits` GROUP BY `ward` ORDER BY `ward`;
-- T-SQL's brackets, IIF and ISNULL
--: dialect tsql
--= SELECT "Home Zip", SUM(IF(age > 50, 1, 0)) AS old, SUM(COALESCE(age, 0)) AS a, SUM(age // 10) AS d, COUNT(*) AS n FROM visits GROUP BY 1
SELECT [Home Zip], SUM(IIF(age > 50, 1, 0)) AS old, SUM(ISNULL(age, 0)) AS a, SUM(age / 10) AS d, COUNT(*) AS n FROM visits GROUP BY [Home Zip];
-- T-SQL's dates
--: dialect tsql
--= SELECT SUM(DATE_DIFF('day', DATE '2024-01-01', day)), SUM(YEAR(day)), SUM(IF(day + INTERVAL 5 DAY > DATE '2024-06-01', 1, 0)), SUM(CAST(TRUNC(change) AS INT)) FROM visits
SELECT SUM(DATEDIFF(day, '2024-01-01', day)), SUM(DATEPART(year, day)), SUM(IIF(DATEADD(day, 5, day) > '2024-06-01', 1, 0)), SUM(CAST(change AS INT)) FROM visits;
-- T-SQL's variances and deviations
--: dialect tsql
--= SELECT VAR_SAMP(age), VAR_POP(age), STDDEV_SAMP(cost), STDDEV_POP(cost) FROM visits
SELECT VAR(age), VARP(age), STDEV(cost), STDEVP(cost) FROM visits;
-- T-SQL's percentiles, and names of months
--: dialect tsql
--= SELECT strftime(day, '%B') AS m, QUANTILE_CONT(age, 0.5) AS q, COUNT(*) AS n FROM visits GROUP BY m
SELECT DATENAME(month, day) AS m, APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) AS q, COUNT(*) AS n FROM visits GROUP BY DATENAME(month, day);
-- T-SQL's TOP
--: dialect tsql
--= SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY COUNT(*) DESC LIMIT 1
SELECT TOP 1 sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY COUNT(*) DESC;
-- Trino's skewness is that of the rows themselves, its kurtosis that of a sample
--: dialect trino
--= SELECT SKEWNESS(age) * (COUNT(age) - 2) / SQRT(COUNT(age) * (COUNT(age) - 1)), KURTOSIS(age), EXP(AVG(LN(age + 1))) FROM visits
SELECT SKEWNESS(age), KURTOSIS(age), GEOMETRIC_MEAN(age + 1) FROM visits;
-- constants of Trino's timestamps have as many digits as are written
--: dialect trino
--= SELECT COUNT_IF(seen >= TIMESTAMP '2024-03-02 12:00:00'), COUNT_IF(seen < TIMESTAMP '2024-03-02 12:00:00.25') FROM visits
SELECT COUNT_IF(seen >= TIMESTAMP '2024-03-02 12:00:00'), COUNT_IF(seen < TIMESTAMP '2024-03-02 12:00:00.25') FROM visits;
-- Trino's division and days of the week
--: dialect trino
--= SELECT SUM(age // 10), SUM(isodow(day)), COUNT(ward || sex), SUM(isodow(day)) FROM visits
SELECT SUM(age / 10), SUM(day_of_week(day)), COUNT(CONCAT(ward, sex)), SUM(EXTRACT(DOW FROM day)) FROM visits;
-- GoogleSQL's words for privacy
--: dialect bigquery
--: cost in the text
--= SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-9) sex, COUNT(*) AS n FROM visits GROUP BY sex;
-- GoogleSQL's words for privacy, over several lines
--: dialect bigquery
--: cost in the text
--: unit
--= SELECT sex, SUM(age) AS s, COUNT(*) AS n FROM visits GROUP BY sex
SELECT
  WITH DIFFERENTIAL_PRIVACY
    OPTIONS(epsilon = 0.5, delta = .000001, privacy_unit_column = id, max_groups_contributed = NULL)
  sex, SUM(age) AS s, COUNT(*) AS n
FROM visits
GROUP BY sex;

-- == the most frequent value of each group
-- of keys, beside a count
SELECT sex, COUNT(*) AS n, MODE(ward) AS m FROM visits GROUP BY sex;
-- of a condition, of the rows that FILTER keeps
SELECT ward, COUNT(*) AS n, MODE(active) FILTER (WHERE age > 20) AS m FROM visits GROUP BY ward;
-- of whole numbers and of all rows, beside another
SELECT MODE(age // 25) AS m, COUNT(*) AS n FROM visits;
-- the mode as it is written in the standard
--= SELECT sex, COUNT(*) AS n, MODE(ward) FILTER (WHERE age > 20) AS m FROM visits GROUP BY sex
SELECT sex, COUNT(*) AS n, MODE() WITHIN GROUP (ORDER BY ward DESC) FILTER (WHERE age > 20) AS m FROM visits GROUP BY sex;
-- and in PostgreSQL
--: dialect postgres
--= SELECT sex, COUNT(*) AS n, MODE(ward) AS m FROM visits GROUP BY sex
SELECT sex, COUNT(*) AS n, MODE() WITHIN GROUP (ORDER BY ward) AS m FROM visits GROUP BY sex;

-- == quantiles of whole numbers and days, of which every value has a cell
-- the median is between the two middle values
SELECT MEDIAN(age) AS m, MEDIAN(score) AS s, COUNT(*) AS n FROM visits;
-- a discrete quantile is a value
SELECT QUANTILE_DISC(age, 0.25) AS a, QUANTILE_DISC(score, 0.9) AS b FROM visits;
-- a quantile that is computed from constants
--= SELECT QUANTILE_DISC(age, 0.25) AS a, QUANTILE_DISC(score, 0.9) AS b FROM visits
SELECT QUANTILE_DISC(age, 1 / 4) AS a, QUANTILE_DISC(score, CAST(0.9 AS DOUBLE)) AS b FROM visits;
-- quantiles of groups, of the rows that FILTER keeps
SELECT sex, COUNT(*) AS n, MEDIAN(age) FILTER (WHERE score > 0) AS m FROM visits GROUP BY sex;
-- a percentile within a group is a quantile
SELECT PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY age) AS p FROM visits;
-- the median of days is an instant
SELECT MEDIAN(day) AS m, QUANTILE_DISC(day, 0.75) AS d FROM visits;
-- quantiles of expressions, and arithmetic on quantiles
SELECT QUANTILE_DISC(age // 10, 0.75) - QUANTILE_DISC(age // 10, 0.25) AS iqr FROM visits;
-- lists of quantiles, in the order that they are asked for
SELECT QUANTILE_DISC(age, [0.75, 0.25]) AS a, COUNT(*) AS n, QUANTILE_DISC(score, [0.9]) FROM visits;
-- lists of quantiles by group, of days, with FILTER; columns after them keep their numbers
SELECT QUANTILE_DISC(day, [0.25, 0.5, 0.75]) AS d, ward, PERCENTILE_DISC([0.25, 0.5]) WITHIN GROUP (ORDER BY age DESC) FILTER (WHERE age > 20) AS a, COUNT(*) AS n FROM visits GROUP BY 2 ORDER BY 2;

-- == histograms: a row for each bin, where plain DuckDB has a MAP

-- HISTOGRAM of whole numbers in even bins
--= SELECT n * 11.0 AS low, n * 11.0 + 11 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR(age / 11), 9) AS n FROM visits WHERE age IS NOT NULL) GROUP BY n
SELECT HISTOGRAM(age, 10) AS n FROM visits;
-- HISTOGRAM of floats in even bins
--= SELECT b * 5.0 - 10 AS low, b * 5.0 - 5 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR((change + 10) / 5), 3) AS b FROM visits) GROUP BY b
SELECT HISTOGRAM(change, 4) AS n FROM visits;
-- HISTOGRAM between edges leaves out what lies beyond them
--= SELECT CASE WHEN age < 65 THEN 18 ELSE 65 END AS low, CASE WHEN age < 65 THEN 65 ELSE 100 END AS high, COUNT(*) AS n FROM visits WHERE age BETWEEN 18 AND 100 GROUP BY 1, 2
SELECT HISTOGRAM(age, [18, 65, 100]) AS n FROM visits;
-- HISTOGRAM between edges that are days
--= SELECT DATE '2024-02-01' AS low, DATE '2024-07-01' AS high, COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2024-02-01' AND DATE '2024-07-01'
SELECT HISTOGRAM(day, [DATE '2024-02-01', DATE '2024-07-01']) AS n FROM visits;
-- HISTOGRAM beside the keys of GROUP BY, under conditions
--= SELECT sex, b * 55.0 AS low, b * 55.0 + 55 AS high, COUNT(*) AS n FROM (SELECT sex, LEAST(FLOOR(age / 55), 1) AS b FROM visits WHERE score > 0 AND age IS NOT NULL) GROUP BY sex, b
SELECT sex, HISTOGRAM(age, 2) AS n FROM visits WHERE score > 0 GROUP BY sex;
-- HISTOGRAM of an expression
--= SELECT b * 25.0 AS low, b * 25.0 + 25 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR(ABS(score) / 25), 1) AS b FROM visits) GROUP BY b
SELECT HISTOGRAM(ABS(score), 2) AS n FROM visits;
-- HISTOGRAM with FILTER
--= SELECT b * 50.0 - 50 AS low, b * 50.0 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR((score + 50) / 50), 1) AS b FROM visits WHERE sex = 'f') GROUP BY b
SELECT HISTOGRAM(score, 2) FILTER (WHERE sex = 'f') AS n FROM visits;
-- HISTOGRAM of a column with keys has a bin for each
--= SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex
SELECT HISTOGRAM(sex) AS n FROM visits;
-- HISTOGRAM of categories and bins
--= SELECT sex, b * 55.0 AS low, b * 55.0 + 55 AS high, COUNT(*) AS n FROM (SELECT sex, LEAST(FLOOR(age / 55), 1) AS b FROM visits WHERE age IS NOT NULL) GROUP BY sex, b
SELECT HISTOGRAM(sex, age, 2) AS n FROM visits;
-- HISTOGRAM of bins and categories, with FILTER
--= SELECT b * 55.0 AS low, b * 55.0 + 55 AS high, sex, COUNT(*) AS n FROM (SELECT sex, LEAST(FLOOR(age / 55), 1) AS b FROM visits WHERE age IS NOT NULL AND cost > 100) GROUP BY sex, b
SELECT HISTOGRAM(age, 2, sex) FILTER (WHERE cost > 100) AS n FROM visits;
-- HISTOGRAM of categories, twice
--= SELECT sex, active, COUNT(*) AS n FROM visits WHERE active IS NOT NULL GROUP BY ALL
SELECT HISTOGRAM(sex, active) AS n FROM visits WHERE active IS NOT NULL;
-- HISTOGRAM in several groupings
--= SELECT sex, b * 50.0 - 50 AS low, b * 50.0 AS high, COUNT(*) AS n FROM (SELECT sex, LEAST(FLOOR((score + 50) / 50), 1) AS b FROM visits) GROUP BY GROUPING SETS ((sex, b), (b))
SELECT sex, HISTOGRAM(score, 2) AS n FROM visits GROUP BY ROLLUP (sex);
-- HISTOGRAM with GROUP BY ALL, and by the number of a column behind it
--= SELECT b * 50.0 - 50 AS low, b * 50.0 AS high, COUNT(*) AS n, sex FROM (SELECT sex, LEAST(FLOOR((score + 50) / 50), 1) AS b FROM visits) GROUP BY sex, b
SELECT HISTOGRAM(score, 2) AS n, sex FROM visits GROUP BY 2;
-- HAVING, ORDER BY and LIMIT over the rows of a HISTOGRAM
--= SELECT b * 50.0 - 50 AS low, b * 50.0 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR((score + 50) / 50), 1) AS b FROM visits) GROUP BY b HAVING COUNT(*) > 3 ORDER BY low DESC LIMIT 1
SELECT HISTOGRAM(score, 2) AS n FROM visits HAVING n > 3 ORDER BY low DESC LIMIT 1;
-- HISTOGRAM with cumulative counts
--= SELECT low, high, n, SUM(n) OVER (ORDER BY low)::BIGINT AS cumulative FROM (SELECT b * 25.0 - 50 AS low, b * 25.0 - 25 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR((score + 50) / 25), 3) AS b FROM visits) GROUP BY b)
SELECT HISTOGRAM(score, 4, cumulative := TRUE) AS n FROM visits;
-- HISTOGRAM with cumulative counts in each group
--= SELECT sex, low, high, n, SUM(n) OVER (PARTITION BY sex ORDER BY low)::BIGINT AS cumulative FROM (SELECT sex, b * 25.0 - 50 AS low, b * 25.0 - 25 AS high, COUNT(*) AS n FROM (SELECT sex, LEAST(FLOOR((score + 50) / 25), 3) AS b FROM visits WHERE active) GROUP BY sex, b)
SELECT sex, HISTOGRAM(score, 4, cumulative => TRUE) AS n FROM visits WHERE active GROUP BY sex;
-- HISTOGRAM with coarser bins counted too
--= SELECT b * 4.0 - 50 AS low, b * 4.0 - 46 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR((score + 50) / 4), 24) AS b FROM visits) GROUP BY b
SELECT HISTOGRAM(score, 25, hierarchical := TRUE) AS n FROM visits;
-- HISTOGRAM between edges, on levels, consistent, with FILTER
--= SELECT CASE WHEN score < 0 THEN -50 ELSE 0 END AS low, CASE WHEN score < 0 THEN 0 ELSE 50 END AS high, COUNT(*) AS n FROM visits WHERE sex = 'f' GROUP BY 1, 2
SELECT HISTOGRAM(score, [-50, 0, 50], HIERARCHICAL := TRUE, consistent := TRUE) FILTER (WHERE sex = 'f') AS n FROM visits;
-- HISTOGRAM of two values is a plane
--= SELECT a * 55.0 AS age_low, a * 55.0 + 55 AS age_high, b * 50.0 - 50 AS score_low, b * 50.0 AS score_high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR(age / 55), 1) AS a, LEAST(FLOOR((score + 50) / 50), 1) AS b FROM visits WHERE age IS NOT NULL) GROUP BY a, b
SELECT HISTOGRAM(age, 2, score, 2) AS n FROM visits;
-- HISTOGRAM of two values in each group, with margins
--= SELECT sex, CASE WHEN score < 0 THEN -50 ELSE 0 END AS score_low, CASE WHEN score < 0 THEN 0 ELSE 50 END AS score_high, b * 5.0 - 10 AS change_low, b * 5.0 - 5 AS change_high, COUNT(*) AS n FROM (SELECT sex, score, LEAST(FLOOR((change + 10) / 5), 3) AS b FROM visits) GROUP BY ALL
SELECT sex, HISTOGRAM(score, [-50, 0, 50], change, 4, margins := TRUE) AS n FROM visits GROUP BY sex;
-- HISTOGRAM of two expressions, on levels
--= SELECT a * 25.0 AS first_low, a * 25.0 + 25 AS first_high, b * 5.0 - 10 AS second_low, b * 5.0 - 5 AS second_high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR(ABS(score) / 25), 1) AS a, LEAST(FLOOR((change + 10) / 5), 3) AS b FROM visits) GROUP BY a, b
SELECT HISTOGRAM(ABS(score), 2, change * 1, 4, hierarchical := TRUE) AS n FROM visits;
-- a plane with HAVING and ORDER BY
--= SELECT a * 55.0 AS age_low, a * 55.0 + 55 AS age_high, b * 50.0 - 50 AS score_low, b * 50.0 AS score_high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR(age / 55), 1) AS a, LEAST(FLOOR((score + 50) / 50), 1) AS b FROM visits WHERE age IS NOT NULL) GROUP BY a, b HAVING COUNT(*) > 2 ORDER BY age_low DESC, score_low
SELECT HISTOGRAM(age, 2, score, 2) AS n FROM visits HAVING n > 2 ORDER BY age_low DESC, score_low;
-- HISTOGRAM with counts below 0 raised to 0
--= SELECT b * 50.0 - 50 AS low, b * 50.0 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR((score + 50) / 50), 1) AS b FROM visits) GROUP BY b
SELECT HISTOGRAM(score, 2, nonnegative := TRUE, cumulative := FALSE) AS n FROM visits;
-- a SELECT around a HISTOGRAM
--= SELECT b * 50.0 - 50 AS low, COUNT(*) * 2 AS twice FROM (SELECT LEAST(FLOOR((score + 50) / 50), 1) AS b FROM visits) GROUP BY b
SELECT low, n * 2 AS twice FROM (SELECT HISTOGRAM(score, 2) AS n FROM visits) WHERE high <= 50;
-- HISTOGRAM of a common table expression
--= SELECT b * 100.0 - 100 AS low, b * 100.0 AS high, COUNT(*) AS n FROM (SELECT LEAST(FLOOR((score * 2 + 100) / 100), 1) AS b FROM visits) GROUP BY b
WITH doubled AS (SELECT score * 2 AS twice FROM visits) SELECT HISTOGRAM(twice, 2) AS n FROM doubled;
-- a share of the whole
SELECT ward, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward;
-- a share of a part
SELECT ward, sex, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY ward) AS share FROM visits GROUP BY ward, sex;
-- a running total
--= SELECT MONTH(day) AS m, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY MONTH(day))::BIGINT AS total FROM visits WHERE day IS NOT NULL GROUP BY 1
SELECT MONTH(day) AS m, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY MONTH(day)) AS total FROM visits WHERE day IS NOT NULL GROUP BY 1;
-- a running total in each part, in falling order, without a day last
--= SELECT sex, MONTH(day) AS m, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY sex ORDER BY MONTH(day) DESC NULLS LAST)::BIGINT AS total FROM visits GROUP BY 1, 2
SELECT sex, MONTH(day) AS m, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY sex ORDER BY MONTH(day) DESC NULLS LAST) AS total FROM visits GROUP BY 1, 2;
-- the least, the largest, the average and the number of groups, beside each of them
SELECT ward, COUNT(*) AS n, MIN(COUNT(*)) OVER () AS least, MAX(COUNT(*)) OVER () AS most, AVG(COUNT(*)) OVER () AS mean, COUNT(*) OVER () AS groups FROM visits GROUP BY ward;
-- a moving average
SELECT MONTH(day) AS m, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY MONTH(day) ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS smooth FROM visits WHERE day IS NOT NULL GROUP BY 1;
-- a moving largest value up to here
SELECT MONTH(day) AS m, COUNT(*) AS n, MAX(COUNT(*)) OVER (ORDER BY MONTH(day) ROWS UNBOUNDED PRECEDING) AS most FROM visits WHERE day IS NOT NULL GROUP BY 1;
-- ranks with their ties
SELECT MONTH(day) AS m, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r, DENSE_RANK() OVER (ORDER BY COUNT(*) DESC) AS d FROM visits GROUP BY 1;
-- numbers of rows, in an order without ties
SELECT ward, sex, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY ward ORDER BY COUNT(*) DESC, sex) AS r FROM visits GROUP BY ward, sex ORDER BY ward, r;
-- a rank by the name of a column
SELECT ward, SUM(score) AS s, COUNT(*) AS n, RANK() OVER (ORDER BY s) AS r FROM visits GROUP BY ward;
-- what was there a month before, and the change since
SELECT MONTH(day) AS m, COUNT(*) AS n, LAG(COUNT(*)) OVER (ORDER BY MONTH(day)) AS before, n - before AS change FROM visits WHERE day IS NOT NULL GROUP BY 1;
-- what comes two months later, or nothing
SELECT MONTH(day) AS m, COUNT(*) AS n, LEAD(COUNT(*), 2, 0) OVER (ORDER BY MONTH(day)) AS later FROM visits WHERE day IS NOT NULL GROUP BY 1;
-- how a month compares with the first and the last one
SELECT MONTH(day) AS m, COUNT(*) AS n, COUNT(*) / FIRST_VALUE(COUNT(*)) OVER (ORDER BY MONTH(day)) AS since, LAST_VALUE(COUNT(*)) OVER (ORDER BY MONTH(day) RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last FROM visits WHERE day IS NOT NULL GROUP BY 1;
-- a window over what HAVING left
SELECT ward, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward HAVING COUNT(*) > 70;
-- a window by which the answer is sorted
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY RANK() OVER (ORDER BY SUM(score)) LIMIT 2;
-- a share of nothing
SELECT ward, COUNT(*) FILTER (WHERE age > 200) / SUM(COUNT(*) FILTER (WHERE age > 200)) OVER () AS share, COUNT(*) AS n FROM visits GROUP BY ward;
-- a window over all rows, which are one group
--= SELECT COUNT(*) AS total FROM visits
SELECT SUM(COUNT(*)) OVER () AS total FROM visits;
-- a share of an answer
SELECT ward, n / SUM(n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward);
-- a share by WITH, of what WHERE left
WITH w AS (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex) SELECT ward, n, n / SUM(n) OVER (PARTITION BY ward) AS share FROM w WHERE sex = 'f';
-- the best of each part
SELECT ward, sex, n FROM (SELECT ward, sex, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY ward ORDER BY COUNT(*) DESC, sex) AS r FROM visits GROUP BY ward, sex) WHERE r = 1;
-- the best of each part, by QUALIFY
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY n DESC, sex) = 1;
-- QUALIFY by a window of SELECT, after HAVING and before LIMIT
SELECT ward, sex, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM visits GROUP BY ward, sex HAVING COUNT(*) > 5 QUALIFY r <= 4 ORDER BY r, ward, sex LIMIT 2 OFFSET 1;
-- QUALIFY by what is not shown
SELECT ward FROM visits GROUP BY ward QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC, ward) <= 2;
-- QUALIFY around a subquery, where a column goes before an alias
SELECT ward, -n AS n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) QUALIFY n > AVG(n) OVER () OR RANK() OVER (ORDER BY n, ward) = 1;
-- QUALIFY over several groupings
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, sex) QUALIFY RANK() OVER (PARTITION BY ward ORDER BY n DESC, sex) = 1;
-- QUALIFY over aggregates of an answer
SELECT ward, MAX(n) AS n FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex) GROUP BY ward QUALIFY RANK() OVER (ORDER BY MAX(n), ward) <= 2;
-- a total of what QUALIFY kept
SELECT SUM(n) AS n, COUNT(*) AS c FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex QUALIFY RANK() OVER (ORDER BY n DESC, ward, sex) <= 3);
-- QUALIFY of one row
SELECT COUNT(*) AS n FROM visits QUALIFY RANK() OVER (ORDER BY COUNT(*)) = 1;
-- QUALIFY keeps nothing
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward QUALIFY RANK() OVER (ORDER BY n) > 100;
-- the best of each part, in another dialect
--: dialect snowflake
SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY n DESC, sex) = 1;
-- parts of an order
SELECT ward, sex, COUNT(*) AS n, NTILE(2) OVER (ORDER BY COUNT(*), ward, sex) AS t, PERCENT_RANK() OVER (PARTITION BY sex ORDER BY COUNT(*)) AS p, CUME_DIST() OVER (ORDER BY COUNT(*) DESC) AS c FROM visits GROUP BY ward, sex;
-- more parts than rows
SELECT sex, COUNT(*) AS n, NTILE(7) OVER (ORDER BY sex) AS t FROM visits GROUP BY sex;
-- the second of an order
SELECT age // 20 AS a, COUNT(*) AS n, NTH_VALUE(COUNT(*), 2) OVER (ORDER BY age // 20) AS second FROM visits WHERE age IS NOT NULL GROUP BY age // 20;
-- quantiles of an answer
SELECT MEDIAN(n), QUANTILE_CONT(n, 0.9), QUANTILE_DISC(n, 0.25), QUANTILE(n, 1) FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex);
-- a percentile of an answer
SELECT PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY n) AS p FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex);
-- deviations of an answer
SELECT STDDEV(n), STDDEV_SAMP(n), STDDEV_POP(n), VARIANCE(n), VAR_SAMP(n), VAR_POP(n) FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex);
-- quantiles and deviations of an answer, by some of its keys
SELECT ward, MEDIAN(n) AS m, STDDEV_POP(n) AS s FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex) GROUP BY ward;
-- the deviation of one number
SELECT STDDEV(n) AS s, VAR_POP(n) AS v, MEDIAN(n) AS m FROM (SELECT COUNT(*) AS n FROM visits);
-- how far groups are from the others
SELECT ward, sex, n, (n - AVG(n) OVER ()) / STDDEV(n) OVER () AS z, n - MEDIAN(n) OVER (PARTITION BY ward) AS off FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex);
-- large groups counted in several ways
--= SELECT COUNT_IF(n > 40)::BIGINT, SUM(CASE WHEN n > 40 THEN 1 ELSE 0 END)::BIGINT, COUNT(*) FILTER (WHERE n > 40), COUNT(CASE WHEN n > 40 THEN 1 END), AVG(CASE WHEN n > 40 THEN 1 ELSE 0 END), SUM((n > 40)::INT)::BIGINT FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex)
SELECT COUNT_IF(n > 40), SUM(CASE WHEN n > 40 THEN 1 ELSE 0 END), COUNT(*) FILTER (WHERE n > 40), COUNT(CASE WHEN n > 40 THEN 1 END), AVG(CASE WHEN n > 40 THEN 1 ELSE 0 END), SUM(n > 40) FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex);
-- large groups counted beside each group
SELECT ward, COUNT(*) AS n, COUNT_IF(COUNT(*) > 40) OVER () AS large FROM visits GROUP BY ward;
-- cumulative counts of the bins of a histogram
--= SELECT low, SUM(n) OVER (ORDER BY low)::BIGINT AS total FROM (SELECT b * 25.0 - 50 AS low, COUNT(*) AS n FROM (SELECT LEAST(FLOOR((score + 50) / 25), 3) AS b FROM visits) GROUP BY b)
SELECT low, SUM(n) OVER (ORDER BY low) AS total FROM (SELECT HISTOGRAM(score, 4) AS n FROM visits);
-- aggregates of an answer
--= SELECT MAX(n), AVG(n), MIN(n), SUM(n)::BIGINT, COUNT(*) FROM (SELECT ward, COUNT(*) n FROM visits GROUP BY ward)
SELECT MAX(n), AVG(n), MIN(n), SUM(n), COUNT(*) FROM (SELECT ward, COUNT(*) n FROM visits GROUP BY ward);
-- aggregates of an answer, by some of its keys
SELECT ward, MAX(n) AS most, AVG(n) AS mean, COUNT(*) AS groups FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex) GROUP BY ward HAVING MAX(n) > 5 ORDER BY ward;
-- how many groups are large
SELECT COUNT(*) AS large, COUNT(*) FILTER (WHERE n > 20) AS larger FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex) WHERE n > 10;
-- nothing is left to aggregate
SELECT SUM(n) AS s, COUNT(*) AS c, MAX(n) AS m FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) WHERE n > 100000;
-- a window over aggregates of an answer
SELECT ward, SUM(n) / SUM(SUM(n)) OVER () AS share FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex) GROUP BY ward;
-- an aggregate of a window of an answer
SELECT MAX(share) AS most FROM (SELECT ward, n / SUM(n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward));
-- an aggregate of aggregates of an answer
SELECT MIN(most) AS least FROM (SELECT ward, MAX(n) AS most FROM (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex) GROUP BY ward);
-- the average of averages
SELECT AVG(c) AS c FROM (SELECT sex, AVG(cost) AS c FROM visits GROUP BY sex);
-- a total of the same answer, as one value
WITH w AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n / (SELECT SUM(n) FROM w) AS share FROM w;
-- the groups above their average
WITH w AS (SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex) SELECT ward, sex, n FROM w WHERE n > (SELECT AVG(n) FROM w);
-- how far from the largest to the least, of all groups and of those that are left
WITH w AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT ward, n, (SELECT MAX(n) - MIN(n) FROM w) AS spread, MAX(n) OVER () AS most FROM w WHERE ward <> 'er';
