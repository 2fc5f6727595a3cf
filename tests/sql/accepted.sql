-- Statements that are answered. Each runs on both engines, with the noise set to zero by the test, and
-- is compared with plain DuckDB on the same rows. A line before a statement says what it is about.

-- counts
SELECT COUNT(*) FROM visits;
SELECT count(*) AS n FROM Visits;
SELECT COUNT(cost) FROM visits;
SELECT COUNT(ward) AS w, COUNT(name) AS t FROM visits;
SELECT COUNT(1) FROM visits;
SELECT COUNT(DISTINCT pid) FROM visits;
SELECT COUNT(DISTINCT pid) AS people, COUNT(*) AS rows FROM visits WHERE age > 40;
SELECT COUNT_IF(age > 40) FROM visits;
SELECT COUNT(*) FILTER (WHERE age > 40) FROM visits;
SELECT COUNT(cost) FILTER (WHERE ward = 'er') AS n FROM visits WHERE active;
SELECT COUNT(*) FILTER (WHERE cost IS NULL) FROM visits;
-- sums and means
SELECT SUM(cost) FROM visits;
SELECT SUM(age) FROM visits;
SELECT SUM(age) FILTER (WHERE active) FROM visits;
SELECT AVG(cost) FROM visits;
SELECT MEAN(age) FROM visits;
SELECT AVG(cost) FILTER (WHERE ward IN ('er', 'gp')) FROM visits;
SELECT COUNT(*), SUM(cost), AVG(cost), SUM(age), AVG(age) FROM visits;
SELECT SUM(active) FROM visits;
SELECT AVG(CAST(active AS INT)) FROM visits;
SELECT SUM(1) FROM visits;
SELECT SUM(2.5) FROM visits;
-- arithmetic over aggregates
SELECT SUM(cost) / COUNT(*) AS r FROM visits;
SELECT SUM(cost) / SUM(age) AS r FROM visits;
SELECT 100 * COUNT(*) FILTER (WHERE active) / COUNT(*) AS percent FROM visits;
SELECT COUNT(*) - COUNT(cost) AS missing FROM visits;
SELECT ROUND(AVG(cost), 1) AS c FROM visits;
SELECT SQRT(SUM(age)) AS s, -COUNT(*) AS m, ABS(1 - COUNT(*)) AS a FROM visits;
SELECT CASE WHEN COUNT(*) > 10 THEN 'many' ELSE 'few' END AS how FROM visits;
SELECT COUNT(*) AS n, n * 2 AS twice FROM visits;
SELECT GREATEST(COUNT(*), 5) AS g, LEAST(SUM(age), 3) AS l FROM visits;
SELECT CAST(AVG(cost) AS BIGINT) AS c FROM visits;
SELECT COUNT(*) // 7 AS q, COUNT(*) % 7 AS r FROM visits;
-- arithmetic on rows
SELECT SUM(age + 1) FROM visits;
SELECT SUM(age - 50) FROM visits;
SELECT SUM(age * 2) FROM visits;
SELECT SUM(age * age) FROM visits;
SELECT SUM(cost * 0.5) FROM visits;
SELECT SUM(cost / 4) FROM visits;
SELECT SUM(cost / (age + 1)) FROM visits;
SELECT SUM(age // 10) FROM visits;
SELECT SUM(age % 7) FROM visits;
SELECT SUM(MOD(age, 3)) FROM visits;
SELECT SUM(-age) FROM visits;
SELECT SUM((age - 50) // 7), SUM((age - 50) % 7) FROM visits;
SELECT SUM(ABS(age - 50)) FROM visits;
SELECT SUM(SIGN(age - 50)) FROM visits;
SELECT SUM(ROUND(cost)), SUM(ROUND(cost, 1)), SUM(ROUND(cost, -2)) FROM visits;
SELECT SUM(FLOOR(cost)), SUM(CEIL(cost)), SUM(FLOOR(age)) FROM visits;
SELECT SUM(SQRT(cost)), SUM(LN(cost + 1)), SUM(EXP(age / 100)) FROM visits;
SELECT SUM(POWER(age, 2)), SUM(POW(cost, 0.5)), SUM(age ** 3) FROM visits;
SELECT SUM(POWER(age + 1, -1)) FROM visits;
SELECT SUM(LEAST(age, 18)), SUM(GREATEST(cost, 100)) FROM visits;
SELECT SUM(LENGTH(ward)) FROM visits;
-- conditions
SELECT COUNT(*) FROM visits WHERE age >= 18 AND age < 65;
SELECT COUNT(*) FROM visits WHERE age < 18 OR age >= 65;
SELECT COUNT(*) FROM visits WHERE NOT (age < 18 OR cost > 500);
SELECT COUNT(*) FROM visits WHERE NOT active;
SELECT COUNT(*) FROM visits WHERE active IS TRUE;
SELECT COUNT(*) FROM visits WHERE active IS NOT FALSE;
SELECT COUNT(*) FROM visits WHERE age = 30 OR age <> 31 AND age != 32;
SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 64;
SELECT COUNT(*) FROM visits WHERE age NOT BETWEEN 18 AND 64;
SELECT COUNT(*) FROM visits WHERE ward IN ('er', 'icu');
SELECT COUNT(*) FROM visits WHERE ward NOT IN ('er', 'icu');
SELECT COUNT(*) FROM visits WHERE age IN (20, 30, 40);
SELECT COUNT(*) FROM visits WHERE age IN (20, NULL);
SELECT COUNT(*) FROM visits WHERE name LIKE 'A%';
SELECT COUNT(*) FROM visits WHERE name NOT LIKE '%e_';
SELECT COUNT(*) FROM visits WHERE name LIKE '%.%' OR name LIKE '(%';
SELECT COUNT(*) FROM visits WHERE cost IS NULL;
SELECT COUNT(*) FROM visits WHERE cost IS NOT NULL AND ward IS NOT NULL;
SELECT COUNT(*) FROM visits WHERE ward IS DISTINCT FROM 'er';
SELECT COUNT(*) FROM visits WHERE ward IS NOT DISTINCT FROM 'er';
SELECT COUNT(*) FROM visits WHERE starts_with(name, 'B') OR contains(name, 'ri') OR ends_with(name, 'e');
SELECT COUNT(*) FROM visits WHERE age > 17.5;
SELECT COUNT(*) FROM visits WHERE 65 <= age;
SELECT COUNT(*) FROM visits WHERE TRUE;
SELECT COUNT(*) FROM visits WHERE cost / 0 > 1 OR LN(age - 200) > 0 OR age = 30;
-- choices
SELECT SUM(CASE WHEN age < 18 THEN 0 WHEN age < 65 THEN 1 ELSE 2 END) FROM visits;
SELECT SUM(CASE ward WHEN 'er' THEN 3 WHEN 'gp' THEN 1 END) FROM visits;
SELECT SUM(COALESCE(cost, 0)) FROM visits;
SELECT SUM(IFNULL(cost, 10)) FROM visits;
SELECT COUNT(NULLIF(ward, 'er')) FROM visits;
SELECT SUM(IF(active, 1, 0)) FROM visits;
-- casts
SELECT SUM(CAST(cost AS BIGINT)), SUM(CAST(age AS DOUBLE)) FROM visits;
SELECT SUM(cost::INT) FROM visits;
SELECT COUNT(*) FROM visits WHERE CAST(age AS VARCHAR) = '30';
SELECT COUNT(*) FROM visits WHERE CAST(admitted AS VARCHAR) = '2024-03-01';
SELECT COUNT(*) FROM visits WHERE TRY_CAST(name AS BIGINT) IS NULL;
-- dates
SELECT COUNT(*) FROM visits WHERE admitted >= DATE '2024-06-01';
SELECT COUNT(*) FROM visits WHERE admitted < '2024-06-01';
SELECT COUNT(*) FROM visits WHERE EXTRACT(month FROM admitted) = 3;
SELECT COUNT(*) FROM visits WHERE date_part('year', admitted) = 2024;
SELECT COUNT(*) FROM visits WHERE YEAR(admitted) = 2024 AND MONTH(admitted) < 7 AND DAY(admitted) > 3;
SELECT COUNT(*) FROM visits WHERE EXTRACT(dow FROM admitted) IN (0, 6);
SELECT COUNT(*) FROM visits WHERE EXTRACT(hour FROM seen) < 12 AND EXTRACT(minute FROM seen) >= 0;
SELECT COUNT(*) FROM visits WHERE seen >= TIMESTAMP '2024-06-01 12:00:00';
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', admitted) = TIMESTAMP '2024-03-01 00:00:00';
SELECT SUM(EXTRACT(week FROM admitted)), SUM(EXTRACT(doy FROM admitted)), SUM(EXTRACT(quarter FROM admitted)) FROM visits;
SELECT SUM(EXTRACT(isodow FROM seen)), SUM(EXTRACT(second FROM seen)) FROM visits;
SELECT COUNT(*) FROM visits WHERE CAST(seen AS DATE) = admitted;
-- text
SELECT COUNT(*) FROM visits WHERE LOWER(name) = 'alice' OR UPPER(ward) = 'GP';
SELECT COUNT(*) FROM visits WHERE LENGTH(name) > 4;
SELECT COUNT(*) FROM visits WHERE SUBSTRING(name, 1, 1) = 'A' OR SUBSTR(name, 2) = 'ob' OR LEFT(name, 2) = 'Ca';
SELECT COUNT(*) FROM visits WHERE TRIM(name) = 'Dan' OR LTRIM(name) = 'x' OR RTRIM(name) = 'y';
SELECT COUNT(*) FROM visits WHERE CONCAT(ward, '-', name) = 'er-Alice' OR ward || name = 'gpBob';
SELECT COUNT(*) FROM visits WHERE REPLACE(name, 'l', 'L') = 'ALice';
-- groups
SELECT ward, COUNT(*) FROM visits GROUP BY ward;
SELECT ward, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY ward;
SELECT ward, COUNT(*) FROM visits GROUP BY 1;
SELECT ward AS w, COUNT(*) FROM visits GROUP BY w;
SELECT ward, sex, COUNT(*) FROM visits GROUP BY ward, sex;
SELECT sex, ward, COUNT(*) FROM visits GROUP BY (ward, sex);
SELECT ward, COUNT(*) FROM visits GROUP BY ALL;
SELECT COUNT(*) AS n, ward FROM visits GROUP BY ward;
SELECT COUNT(*) FROM visits GROUP BY ward;
SELECT active, COUNT(*) FROM visits GROUP BY active;
SELECT age, COUNT(*) FROM visits GROUP BY age;
SELECT age // 10 AS decade, COUNT(*) FROM visits GROUP BY age // 10;
SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM visits GROUP BY decade;
SELECT CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END AS grp, COUNT(*) FROM visits GROUP BY grp;
SELECT CASE WHEN age < 18 THEN 'minor' WHEN age >= 65 THEN 'old' END AS grp, COUNT(*) FROM visits GROUP BY 1;
SELECT EXTRACT(month FROM admitted) AS m, COUNT(*) FROM visits GROUP BY m;
SELECT EXTRACT(hour FROM seen) AS h, COUNT(*) FROM visits GROUP BY h;
SELECT DATE_TRUNC('month', admitted) AS m, COUNT(*) FROM visits GROUP BY m;
SELECT DATE_TRUNC('quarter', seen) AS q, COUNT(*) FROM visits GROUP BY q;
SELECT UPPER(ward) AS w, COUNT(*) FROM visits GROUP BY w;
SELECT ward || '!' AS w, COUNT(*) FROM visits GROUP BY w;
SELECT age > 50 AS old, COUNT(*) FROM visits GROUP BY old;
SELECT ward, age // 50 AS half, COUNT(*), SUM(age) FROM visits GROUP BY ward, half;
SELECT ward, COUNT(*) FROM visits WHERE ward IN ('er', 'gp') GROUP BY ward;
SELECT ward, COUNT(DISTINCT pid) AS people FROM visits GROUP BY ward;
SELECT age, age // 10 AS d, COUNT(*) FROM visits GROUP BY age, d;
SELECT ward, SUM(age) FILTER (WHERE active) AS s, COUNT(*) FILTER (WHERE NOT active) AS n FROM visits GROUP BY ward;
SELECT ward, SUM(age) / COUNT(*) AS r FROM visits GROUP BY ward;
SELECT LOWER(ward) AS low, LENGTH(ward) AS len, COUNT(*) FROM visits GROUP BY ward;
-- HAVING, ORDER BY, LIMIT
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 3;
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 3 AND ward <> 'gp';
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING SUM(age) > 100;
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, ward;
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 1 DESC;
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY SUM(age) DESC LIMIT 2;
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC, ward LIMIT 1 OFFSET 1;
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward NULLS FIRST;
-- names, quotes, comments
SELECT "ward", COUNT(*) AS "how many" FROM visits GROUP BY "ward";
SELECT WARD, COUNT(*) FROM VISITS GROUP BY Ward;
SELECT v.ward, COUNT(*) FROM visits AS v WHERE v.age > 3 GROUP BY v.ward;
SELECT visits.ward, COUNT(*) FROM visits GROUP BY visits.ward;
SELECT /* a comment */ COUNT(*) -- another
FROM visits;
SELECT COUNT(*) AS "größe ☃" FROM visits;
FROM visits SELECT COUNT(*);
(SELECT COUNT(*) FROM visits);
