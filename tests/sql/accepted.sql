-- Statements that are answered. Each must mean what it means to plain DuckDB: test_accepted.py runs
-- them without noise, on every engine, at row and at user level, and compares.
--
-- A statement ends with a semicolon at the end of a line. The comment above it says what it is
-- about. Public groups without rows are present in our answers: such rows must have n = 0. A line
-- "--: unit" marks statements that only make sense where id is the protected unit.

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
SELECT name, COUNT(*) AS n FROM visits WHERE name IS NULL GROUP BY name;
-- keys derived from a list
SELECT UPPER(name) AS k, sex, COUNT(*) AS n FROM visits WHERE name IN ('Ann', 'bob') GROUP BY k, sex;
-- a list for each of two columns
SELECT name, id % 5 AS i, COUNT(*) AS n FROM visits WHERE name IN ('Ann', 'bob') AND id IN (1, 2, 3, 4) GROUP BY ALL;
-- a condition that narrows both sides of OR
SELECT name, COUNT(*) AS n FROM visits WHERE (name = 'Ann' AND age > 20) OR (name = 'bob' AND sex = 'f') GROUP BY name;

-- == quantiles of whole numbers and days, of which every value has a cell
-- the median is between the two middle values
SELECT MEDIAN(age) AS m, MEDIAN(score) AS s, COUNT(*) AS n FROM visits;
-- a discrete quantile is a value
SELECT QUANTILE_DISC(age, 0.25) AS a, QUANTILE_DISC(score, 0.9) AS b FROM visits;
-- quantiles of groups, of the rows that FILTER keeps
SELECT sex, COUNT(*) AS n, MEDIAN(age) FILTER (WHERE score > 0) AS m FROM visits GROUP BY sex;
-- a percentile within a group is a quantile
SELECT PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY age) AS p FROM visits;
-- the median of days is an instant
SELECT MEDIAN(day) AS m, QUANTILE_DISC(day, 0.75) AS d FROM visits;
-- quantiles of expressions, and arithmetic on quantiles
SELECT QUANTILE_DISC(age // 10, 0.75) - QUANTILE_DISC(age // 10, 0.25) AS iqr FROM visits;
