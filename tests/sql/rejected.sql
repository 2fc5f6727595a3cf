-- Statements that are refused, before anything is spent. A line "--! Error line:column | words | place"
-- stands before each: the error's class, where it points (if anywhere), words of its message, and what
-- it underlines. A statement ends with a line that is a semicolon, and may begin with a line
-- "--: dialect spark".

-- == only one SELECT
--! SQLError | it is empty or no statement at all | 

;
--! SQLError | it is empty or no statement at all | 
-- only a comment
;
--! SQLError | it is empty or no statement at all | 
/* a comment
   of two lines */
;
--! SQLError 1:1 | it begins with GARBAGE | garbage
garbage
;
--! SQLError 1:1 | it begins with SELEC | SELEC
SELEC COUNT(*) FROM visits
;
--! SQLError 1:1 | it begins with INSERT | INSERT
INSERT INTO visits VALUES (1)
;
--! SQLError 1:1 | it begins with UPDATE | UPDATE
UPDATE visits SET age = 1
;
--! SQLError 1:1 | it begins with DELETE | DELETE
DELETE FROM visits
;
--! SQLError 1:1 | it begins with TRUNCATE | TRUNCATE
TRUNCATE visits
;
--! SQLError 1:1 | it begins with MERGE | MERGE
MERGE INTO visits USING visits ON TRUE WHEN MATCHED THEN DELETE
;
--! SQLError 1:1 | it begins with DROP | DROP
DROP TABLE visits
;
--! SQLError 1:1 | it begins with CREATE | CREATE
CREATE TABLE copy AS SELECT * FROM visits
;
--! SQLError 1:1 | it begins with CREATE | CREATE
CREATE OR REPLACE MACRO f(x) AS x + 1
;
--! SQLError 1:1 | it begins with ALTER | ALTER
ALTER TABLE visits ADD COLUMN x INT
;
--! SQLError 1:1 | it begins with COPY | COPY
COPY visits TO 'visits.csv'
;
--! SQLError 1:1 | it begins with EXPORT | EXPORT
EXPORT DATABASE 'd'
;
--! SQLError 1:1 | it begins with IMPORT | IMPORT
IMPORT DATABASE 'd'
;
--! SQLError 1:1 | it begins with PRAGMA | PRAGMA
PRAGMA table_info('visits')
;
--! SQLError 1:1 | it begins with ATTACH | ATTACH
ATTACH 'other.db' AS other
;
--! SQLError 1:1 | it begins with DETACH | DETACH
DETACH other
;
--! SQLError 1:1 | it begins with INSTALL | INSTALL
INSTALL httpfs
;
--! SQLError 1:1 | it begins with LOAD | LOAD
LOAD httpfs
;
--! SQLError 1:1 | it begins with SET | SET
SET threads = 1
;
--! SQLError 1:1 | it begins with RESET | RESET
RESET threads
;
--! SQLError 1:1 | it begins with USE | USE
USE other
;
--! SQLError 1:1 | it begins with CALL | CALL
CALL pragma_version()
;
--! SQLError 1:1 | it begins with EXPLAIN | EXPLAIN
EXPLAIN SELECT COUNT(*) FROM visits
;
--! SQLError 1:1 | it begins with DESCRIBE | DESCRIBE
DESCRIBE visits
;
--! SQLError 1:1 | it begins with SHOW | SHOW
SHOW TABLES
;
--! SQLError 1:1 | it begins with SUMMARIZE | SUMMARIZE
SUMMARIZE visits
;
--! SQLError 1:1 | it begins with VACUUM | VACUUM
VACUUM
;
--! SQLError 1:1 | it begins with BEGIN | BEGIN
BEGIN TRANSACTION
;
--! SQLError 1:1 | it begins with PREPARE | PREPARE
PREPARE q AS SELECT COUNT(*) FROM visits
;
--! SQLError 1:1 | it begins with TABLE | TABLE
TABLE visits
;
--! SQLError 1:1 | it begins with VALUES | VALUES
VALUES (1), (2)
;
--! SQLError 1:1 | it begins with PIVOT | PIVOT
PIVOT visits ON ward USING COUNT(*)
;
--! SQLError 1:1 | it begins with UNPIVOT | UNPIVOT
UNPIVOT visits ON age, score
;
--! SQLError | there are 2 statements | 
SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits
;
--! SQLError | there are 2 statements | 
SELECT COUNT(*) FROM visits; DROP TABLE visits
;
--! SQLError | there are 3 statements | 
SELECT 1; SELECT 2; SELECT 3
;

-- == what stands beside a query in parentheses
--! SQLError 1:67 | LIMIT cannot stand beside a query in parentheses | LIMIT
(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n) LIMIT 1
;
--! SQLError 1:56 | ORDER BY cannot stand beside a query | ORDER BY
(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) ORDER BY n DESC LIMIT 2
;
--! SQLError 1:46 | LIMIT cannot stand beside a query | LIMIT
SELECT COUNT(*) FROM ((SELECT * FROM visits) LIMIT 5) AS t
;
--! SQLError 1:84 | LIMIT cannot stand beside a query | LIMIT
WITH t AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) (SELECT * FROM t) LIMIT 1
;
--! SQLError 1:76 | PIVOT cannot stand beside a query | PIVOT
SELECT ward, n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) PIVOT (SUM(n) FOR ward IN ('er'))
;
--! SQLError 1:15 | SAMPLE cannot stand beside a query | (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t TABLESAMPLE 10
SELECT * FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t TABLESAMPLE 10%
;

-- == does not parse
--! SQLError 1:43 | this is not expected here | XOR
SELECT COUNT(*) FROM visits WHERE age > 5 XOR active
;
--! SQLError 1:22 | this is not expected here | b
SELECT COUNT(*) AS a b FROM visits
;
--! SQLError 1:16 | Expecting ) | FROM
SELECT COUNT(* FROM visits
;
--! SQLError 1:29 | something is missing here | WHERE
SELECT COUNT(*) FROM visits WHERE
;
--! SQLError 4:3 | something is missing here | )
SELECT COUNT(*)
FROM visits
WHERE age > 5 AND
  )
;
--! SQLError 1:17 | a table name is missing here | FROM
SELECT COUNT(*) FROM
;
--! SQLError 1:12 | something is missing here | )
SELECT SUM() FROM visits
;
--! SQLError 1:21 | there are too many arguments | )
SELECT SUM(age, cost) FROM visits
;
--! SQLError 1:42 | a quote or a comment is not closed | '
SELECT COUNT(*) FROM visits WHERE name = 'unclosed
;
--! SQLError 1:14 | a quote or a comment is not closed | "
SELECT COUNT("age) FROM visits
;
--! SQLError 1:17 | a quote or a comment is not closed | /*
SELECT COUNT(*) /* unclosed FROM visits
;
--! SQLError 1:29 | GROUP BY names nothing | GROUP BY
SELECT COUNT(*) FROM visits GROUP BY
;

-- == tables
--! SQLError | there is no FROM | 
SELECT COUNT(*)
;
--! SQLError | there is no FROM | 
SELECT
;
--! SQLError 1:22 | no such table | nothing
SELECT COUNT(*) FROM nothing
;
--! SQLError 1:22 | did you mean visits? | visit
SELECT COUNT(*) FROM visit
;
--! SQLError 1:22 | did you mean visits? | vísits
SELECT COUNT(*) FROM vísits
;
--! SQLError 1:22 | no such table | 日本
SELECT COUNT(*) FROM 日本
;
--! SQLError 1:22 | only a registered table | 'visits.parquet'
SELECT COUNT(*) FROM 'visits.parquet'
;
--! SQLError 1:22 | only a registered table | "/etc/passwd"
SELECT COUNT(*) FROM "/etc/passwd"
;
--! SQLError 1:22 | only a registered table | read_parquet('visits.parquet')
SELECT COUNT(*) FROM read_parquet('visits.parquet')
;
--! SQLError 1:22 | only a registered table | read_csv_auto('/etc/passwd')
SELECT COUNT(*) FROM read_csv_auto('/etc/passwd')
;
--! SQLError 1:22 | only a registered table | glob('*')
SELECT COUNT(*) FROM glob('*')
;
--! SQLError 1:22 | only a registered table | range(5)
SELECT COUNT(*) FROM range(5)
;
--! SQLError 1:22 | only a registered table | main.visits
SELECT COUNT(*) FROM main.visits
;
--! SQLError 1:22 | only a registered table | information_schema.tables
SELECT COUNT(*) FROM information_schema.tables
;
--! SQLError 1:22 | no such table | duckdb_settings
SELECT COUNT(*) FROM duckdb_settings
;
--! SQLError 1:22 | only a registered table | duckdb_settings
SELECT COUNT(*) FROM duckdb_settings()
;
--! SQLError 1:63 | LIMIT cannot stand in a subquery | 10
SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age LIMIT 10) AS t
;
--! SQLError 1:31 | only a registered table | 1)) AS t(x
SELECT COUNT(*) FROM (VALUES (1)) AS t(x)
;
--! SQLError 1:32 | columns cannot be renamed here | v(x, y, z, age)
SELECT SUM(age) FROM visits AS v(x, y, z, age)
;
--! SQLError 1:22 | only a registered table | visits TABLESAMPLE 10
SELECT COUNT(*) FROM visits TABLESAMPLE 10%
;
--! SQLError 1:15 | only a registered table | visits PIVOT (COUNT(*) FOR ward IN ('er'))
SELECT * FROM visits PIVOT (COUNT(*) FOR ward IN ('er'))
;
--! SQLError 1:35 | SAMPLE is not answered | SAMPLE
SELECT COUNT(*) FROM visits USING SAMPLE 10%
;
--! QueryError 1:30 | does not equate the units | visits AS b
SELECT COUNT(*) FROM visits, visits AS b
;
--! QueryError 1:40 | does not equate the units | visits AS b
SELECT COUNT(*) FROM visits CROSS JOIN visits AS b
;
--! SQLError 1:44 | no such table | nothing
SELECT COUNT(*) FROM visits AS a LEFT JOIN nothing AS b ON TRUE
;
--! SQLError 1:19 | there is no FROM | 1
WITH t AS (SELECT 1) SELECT COUNT(*) FROM visits
;
--! SQLError 1:29 | UNION is not answered | UNION
SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits
;
--! SQLError 1:29 | EXCEPT is not answered | EXCEPT
SELECT COUNT(*) FROM visits EXCEPT SELECT 5
;
--! SQLError 1:30 | INTERSECT is not answered | INTERSECT
(SELECT COUNT(*) FROM visits INTERSECT SELECT 5)
;

-- == rows
--! SQLError 1:8 | the query returns rows | *
SELECT * FROM visits
;
--! SQLError 1:8 | the query returns rows | visits.*
SELECT visits.* FROM visits
;
--! SQLError 1:8 | the query returns rows | *
SELECT *, COUNT(*) FROM visits
;
--! SQLError 1:8 | the query returns rows | * EXCLUDE (id)
SELECT * EXCLUDE (id) FROM visits
;
--! SQLError | the query returns rows | 
FROM visits
;
--! SQLError 1:8 | the query returns rows | 5
SELECT 5 FROM visits
;
--! SQLError 1:8 | neither a group key nor inside an aggregate | age
SELECT age FROM visits
;
--! SQLError 1:8 | neither a group key nor inside an aggregate | age
SELECT age, COUNT(*) FROM visits
;
--! SQLError 1:14 | neither a group key nor inside an aggregate | age
SELECT ward, age + 1, COUNT(*) FROM visits GROUP BY ward
;
--! SQLError 1:56 | neither a group key nor inside an aggregate | age
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING age > 5
;
--! SQLError 1:38 | neither a group key nor inside an aggregate | age
SELECT COUNT(*) FROM visits ORDER BY age
;
--! SQLError 1:8 | neither a group key nor inside an aggregate | age
SELECT age + 1, COUNT(*) FROM visits GROUP BY 1 + age
;
--! SQLError 1:8 | neither a group key nor inside an aggregate | sex
SELECT sex AS ward, COUNT(*) FROM visits GROUP BY ward
;
--! SQLError 1:8 | DISTINCT is not answered | DISTINCT
SELECT DISTINCT COUNT(*) FROM visits
;
--! SQLError 1:8 | DISTINCT is not answered | DISTINCT
SELECT DISTINCT ON (ward) COUNT(*) FROM visits
;
--! QueryError 1:37 | has no order | ROW_NUMBER
SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER () = 1
;
--! SQLError 1:25 | QUALIFY is not answered over private rows | QUALIFY
SELECT ward FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY cost) = 1
;
--! SQLError 1:22 | QUALIFY is not answered over private rows | QUALIFY
FROM visits SELECT 1 QUALIFY COUNT(*) OVER () > 3
;
--! SQLError 1:50 | QUALIFY is not answered over private rows | QUALIFY
SELECT COUNT(*) FROM (SELECT id, age FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY age) = 1)
;
--! SQLError 1:72 | QUALIFY is not answered over private rows | QUALIFY
SELECT COUNT(*) FROM (SELECT id, SUM(age) AS a FROM visits GROUP BY id QUALIFY RANK() OVER (ORDER BY a) <= 3)
;
--! SQLError 1:69 | QUALIFY is not answered over private rows | QUALIFY
SELECT COUNT(*) FROM visits WHERE id IN (SELECT id FROM visits AS b QUALIFY RANK() OVER (ORDER BY b.cost) <= 3)
;
--! SQLError 1:89 | QUALIFY is not answered over private rows | QUALIFY
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits b WHERE b.id = visits.id QUALIFY RANK() OVER (ORDER BY b.cost) <= 3)
;
--! SQLError 1:8 | DISTINCT is not answered | DISTINCT
SELECT DISTINCT ward FROM visits QUALIFY RANK() OVER (ORDER BY ward) = 1
;
--! SQLError 1:49 | QUALIFY looks at no window | QUALIFY
SELECT ward, COUNT(*) FROM visits GROUP BY ward QUALIFY COUNT(*) > 3
;
--! SQLError 1:105 | it is neither a group key nor inside an aggregate | cost
SELECT ward, COUNT(*) AS cost FROM visits GROUP BY ward QUALIFY RANK() OVER (PARTITION BY ward ORDER BY cost) = 1
;
--! SQLError 1:29 | WINDOW is not answered | WINDOW
SELECT COUNT(*) FROM visits WINDOW w AS (ORDER BY age)
;
--! SQLError 1:8 | window functions | COUNT(*) OVER ()
SELECT COUNT(*) OVER () FROM visits
;
--! SQLError 1:8 | window functions | ROW_NUMBER() OVER (ORDER BY age)
SELECT ROW_NUMBER() OVER (ORDER BY age) FROM visits
;
--! SQLError 1:29 | FOR is not answered | FOR
SELECT COUNT(*) FROM visits FOR UPDATE
;
--! SQLError 1:17 | INTO is not answered | INTO
SELECT COUNT(*) INTO kept FROM visits
;

-- == columns
--! SQLError 1:14 | no such column | nothing
SELECT COUNT(nothing) FROM visits
;
--! SQLError 1:35 | did you mean age? | agee
SELECT COUNT(*) FROM visits WHERE agee > 5
;
--! SQLError 1:14 | did you mean Home Zip? | "Home Zipp"
SELECT COUNT("Home Zipp") FROM visits
;
--! SQLError 4:7 | no such column | nothing
SELECT COUNT(*)
FROM visits
WHERE age > 5
  AND nothing = 7
;
--! SQLError 1:43 | no such column | nothing
SELECT COUNT(*) AS n FROM visits GROUP BY nothing
;
--! SQLError 1:41 | no such column | nothing
SELECT COUNT(*) AS n FROM visits HAVING nothing > 5
;
--! SQLError 1:43 | no such column | nothing
SELECT COUNT(*) AS n FROM visits ORDER BY nothing
;
--! SQLError 1:14 | no such column | ñ
SELECT COUNT(ñ) FROM visits
;
--! SQLError 1:14 | no such column | rowid
SELECT COUNT(rowid) FROM visits
;
--! SQLError 1:14 | no such table in this query | v.age
SELECT COUNT(v.age) FROM visits
;
--! SQLError 1:14 | no such table in this query | visits.age
SELECT COUNT(visits.age) FROM visits AS v
;
--! SQLError 1:40 | no such table in this query | w.age
SELECT COUNT(*) FROM visits AS v WHERE w.age > 5
;
--! SQLError 1:14 | a column of type | tags
SELECT COUNT(tags) FROM visits
;

-- == subqueries
--! SQLError 1:27 | there is no FROM | 1
SELECT COUNT(*) + (SELECT 1) FROM visits
;
--! SQLError 1:41 | a subquery cannot stand here | (SELECT AVG(age) FROM visits)
SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)
;
--! SQLError 1:50 | there is no FROM | 1
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1)
;
--! SQLError 1:50 | there is no FROM | 5
SELECT COUNT(*) FROM visits WHERE age IN (SELECT 5)
;
--! SQLError | there is no FROM | 
SELECT (SELECT COUNT(*) FROM visits)
;
--! SQLError 1:43 | there is no FROM | 1
SELECT COUNT(*) FROM visits LIMIT (SELECT 1)
;

-- == aggregates
--! QueryError 1:8 | lists the values of single rows | STRING_AGG(name, ',')
SELECT STRING_AGG(name, ',') FROM visits
;
--! QueryError 1:8 | lists the values of single rows | LIST(age)
SELECT LIST(age) FROM visits
;
--! QueryError 1:8 | is not an aggregate that can be measured | ABS(age) FILTER (WHERE age > 5)
SELECT ABS(age) FILTER (WHERE age > 5) FROM visits
;
--! QueryError 1:8 | shows the value of a single row | ANY_VALUE(ward)
SELECT ANY_VALUE(ward), COUNT(*) FROM visits
;
--! QueryError 1:8 | shows the value of a single row | FIRST(ward)
SELECT FIRST(ward) FROM visits
;
--! QueryError 1:8 | shows the value of a single row | LAST(age) FILTER (WHERE age > 5)
SELECT LAST(age) FILTER (WHERE age > 5) FROM visits
;
--! QueryError 1:8 | one row decides the answer | BOOL_AND(active)
SELECT BOOL_AND(active) FROM visits
;
--! QueryError 1:14 | one row decides the answer | BOOL_OR(active)
SELECT ward, BOOL_OR(active) FROM visits GROUP BY ward
;
--! QueryError 1:8 | every bit | BIT_AND(age)
SELECT BIT_AND(age) FROM visits
;
--! QueryError 1:8 | every bit | BIT_XOR(score)
SELECT BIT_XOR(score) FROM visits
;
--! QueryError 1:8 | lists the values of single rows | ARRAY_AGG(age)
SELECT ARRAY_AGG(age) FROM visits
;
--! QueryError 1:8 | shows the value of a single row | ARG_MAX(ward, age)
SELECT ARG_MAX(ward, age) FROM visits
;
--! QueryError 1:8 | shows the value of a single row | MIN_BY(ward, age)
SELECT MIN_BY(ward, age) FROM visits
;
--! QueryError 1:8 | SELECT ARG_MAX(ward, n) FROM (SELECT ward | ARG_MAX(ward, n)
SELECT ARG_MAX(ward, n) FROM (SELECT ward, age AS n FROM visits)
;
--! SQLError 1:8 | in a query of its own | ARG_MAX(ward, n, 2)
SELECT ARG_MAX(ward, n, 2) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! SQLError 1:8 | in a query of its own | ARG_MAX(ward, n)
SELECT ARG_MAX(ward, n), MAX(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! SQLError 1:8 | ORDER BY n DESC LIMIT 3 | ARG_MAX(ward, n)
SELECT ARG_MAX(ward, n), ARG_MIN(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1)
;
--! SQLError 1:11 | in a query of its own | ARG_MAX(ward, n)
SELECT n, ARG_MAX(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! SQLError 1:8 | in a query of its own | ARG_MAX(ward, n)
SELECT ARG_MAX(ward, n) FILTER (WHERE n > 3) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1)
;
--! SQLError 1:8 | in a query of its own | ARG_MAX(ward, n)
SELECT ARG_MAX(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) GROUP BY n
;
--! SQLError 1:8 | in a query of its own | ARG_MAX(ward)
SELECT ARG_MAX(ward) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! QueryError 1:75 | would release the units | id
SELECT ARG_MAX(id, n) FROM (SELECT id, COUNT(*) AS n FROM visits GROUP BY id)
;
--! QueryError 1:13 | values that are not known beforehand | MODE(cost)
SELECT sex, MODE(cost) FROM visits GROUP BY sex
;
--! QueryError 1:8 | values that are not known beforehand | MODE(cost)
SELECT MODE(cost), COUNT(*) FROM visits
;
--! QueryError 1:13 | a float takes too many values | cost
SELECT MODE(cost) FROM visits
;
--! QueryError 1:8 | has 2 arguments | COUNT(age, cost)
SELECT COUNT(age, cost) FROM visits
;
--! QueryError 1:8 | has 2 arguments | APPROX_COUNT_DISTINCT(age, cost)
SELECT APPROX_COUNT_DISTINCT(age, cost) FROM visits
;
--! SQLError 1:22 | is not an expression that is known | age, cost
SELECT SUM(DISTINCT (age, cost)) FROM visits
;
--! QueryError 1:8 | has 0 arguments | COUNT(DISTINCT *)
SELECT COUNT(DISTINCT *) FROM visits
;
--! QueryError 1:8 | is not supported | SUM(DISTINCT age)
SELECT SUM(DISTINCT age) FROM visits
;
--! QueryError 1:8 | is not supported | AVG(DISTINCT age)
SELECT AVG(DISTINCT age) FROM visits
;
--! QueryError 1:8 | has 0 arguments | SUM(*)
SELECT SUM(*) FROM visits
;
--! QueryError 1:8 | adds up a VARCHAR | SUM(name)
SELECT SUM(name) FROM visits
;
--! QueryError 1:8 | adds up a DATE | AVG(day)
SELECT AVG(day) FROM visits
;
--! QueryError 1:17 | is a BIGINT, not a condition | age
SELECT COUNT_IF(age) FROM visits
;
--! QueryError 1:31 | is a BIGINT, not a condition | age
SELECT COUNT(*) FILTER (WHERE age) FROM visits
;
--! SQLError 1:35 | an aggregate cannot stand here | COUNT(*)
SELECT COUNT(*) FROM visits WHERE COUNT(*) > 5
;
--! SQLError 1:12 | an aggregate cannot stand here | AVG(age)
SELECT SUM(AVG(age)) FROM visits
;
--! SQLError 1:31 | an aggregate cannot stand here | COUNT(*)
SELECT SUM(age) FILTER (WHERE COUNT(*) > 1) FROM visits
;
--! SQLError 1:38 | is an aggregate, and groups are made before | COUNT(*)
SELECT COUNT(*) FROM visits GROUP BY COUNT(*)
;
--! SQLError 1:43 | n: is an aggregate, and groups are made before | n
SELECT COUNT(*) AS n FROM visits GROUP BY n
;
--! SQLError 1:55 | N: is an aggregate, and groups are made before | N
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward, N
;
--! SQLError 1:47 | a // 10: is an aggregate, and groups are made before | a // 10
SELECT AVG(age) + 1 AS a FROM visits GROUP BY a // 10
;
--! SQLError 1:101 | m: is an aggregate, and groups are made before | m
SELECT ward, SUM(n) AS m FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) GROUP BY ward, m
;
--! SQLError 1:73 | t: is a window, and groups are made before | t
SELECT NTILE(4) OVER (ORDER BY age) AS t, COUNT(*) FROM visits GROUP BY t
;
--! SQLError 1:80 | t: is a window, and groups are made before | t
SELECT ward, NTILE(4) OVER (ORDER BY COUNT(*)) AS t FROM visits GROUP BY ward, t
;
--! SQLError 1:14 | is an aggregate, and groups are made before | COUNT(*)
SELECT ward, COUNT(*) FROM visits GROUP BY 2
;
--! SQLError 1:12 | ORDER BY is not answered inside an aggregate | age ORDER BY cost
SELECT SUM(age ORDER BY cost) FROM visits
;
--! SQLError 1:8 | is not an aggregate that can be measured | SUM(age)
SELECT SUM(age) IGNORE NULLS FROM visits
;
--! UnboundedError 1:8 | has no bounds | SUM(weight)
SELECT SUM(weight) FROM visits
;
--! UnboundedError 1:8 | bound it in the query | SUM(TRY_CAST(name AS INT))
SELECT SUM(TRY_CAST(name AS INT)) FROM visits
;
--! UnboundedError 1:8 | no range is declared for weight | AVG(weight + 1)
SELECT AVG(weight + 1) FROM visits
;
--! UnboundedError 1:8 | has no bounds | SUM(age / score)
SELECT SUM(age / score) FROM visits
;
--! UnboundedError 1:8 | has no bounds | SUM(LENGTH(name))
SELECT SUM(LENGTH(name)) FROM visits
;
--! UnboundedError 1:8 | has no bounds | SUM(EXP(cost))
SELECT SUM(EXP(cost)) FROM visits
;

-- == groups
--! QueryError 1:46 | has no public set of values | weight
SELECT weight, COUNT(*) FROM visits GROUP BY weight
;
--! QueryError 1:44 | has no public set of values | cost
SELECT cost, COUNT(*) FROM visits GROUP BY cost
;
--! QueryError 1:42 | names the protected unit | id
SELECT id, COUNT(*) FROM visits GROUP BY id
;
--! QueryError 1:38 | groups | age
SELECT COUNT(*) FROM visits GROUP BY age, score, day
;
--! SQLError 1:54 | ROLLUP is not answered | ROLLUP
SELECT ward, COUNT(*) FROM visits GROUP BY ward WITH ROLLUP
;
--! SQLError 1:44 | GROUP BY takes a column | 3
SELECT ward, COUNT(*) FROM visits GROUP BY 3
;
--! SQLError 1:44 | GROUP BY takes a column | 0
SELECT ward, COUNT(*) FROM visits GROUP BY 0
;
--! SQLError 1:44 | GROUP BY takes a column | -1
SELECT ward, COUNT(*) FROM visits GROUP BY -1
;
--! SQLError 1:58 | ORDER BY takes a column | 3
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 3
;
--! SQLError 1:58 | ORDER BY takes a column | 0
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 0
;
--! SQLError 1:58 | ORDER BY takes a column | 'ward'
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 'ward'
;
--! SQLError 1:58 | COLLATE is not answered | ward
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward COLLATE nocase
;
--! SQLError 1:35 | LIMIT takes a whole number | 1 + 1
SELECT COUNT(*) FROM visits LIMIT 1 + 1
;
--! SQLError 1:35 | LIMIT takes a whole number | -1
SELECT COUNT(*) FROM visits LIMIT -1
;
--! SQLError 1:35 | LIMIT takes a whole number | 1.5
SELECT COUNT(*) FROM visits LIMIT 1.5
;
--! SQLError 1:35 | LIMIT takes a whole number | 50
SELECT COUNT(*) FROM visits LIMIT 50%
;
--! SQLError 1:35 | LIMIT takes a whole number | '5'
SELECT COUNT(*) FROM visits LIMIT '5'
;
--! SQLError 1:41 | LIMIT takes a whole number | 3
SELECT COUNT(*) FROM visits FETCH FIRST 3 ROWS WITH TIES
;
--! SQLError 1:44 | OFFSET takes a whole number | age
SELECT COUNT(*) FROM visits LIMIT 5 OFFSET age
;
--! SQLError 1:8 | a name cannot begin with __dpframe | COUNT(*) AS __dpframe_row
SELECT COUNT(*) AS __dpframe_row FROM visits
;

-- == expressions
--! SQLError 1:35 | the function FOO is not known | foo(age)
SELECT COUNT(*) FROM visits WHERE foo(age) = 1
;
--! SQLError 1:12 | the function FLOR is not known; FLOOR is | FLOR(cost)
SELECT SUM(FLOR(cost)) FROM visits
;
--! SQLError 1:35 | the function MAKE_DATE is not known | make_date(2024, 1, age)
SELECT COUNT(*) FROM visits WHERE make_date(2024, 1, age) = day
;
--! SQLError 1:35 | the function REPEAT is not known | repeat(name, 2)
SELECT COUNT(*) FROM visits WHERE repeat(name, 2) = 'abab'
;
--! SQLError 1:35 | the function CONCAT_WS is not known; CONCAT is | concat_ws('-', name, ward)
SELECT COUNT(*) FROM visits WHERE concat_ws('-', name, ward) = 'a-er'
;
--! SQLError 1:14 | the function COLUMNS is not known | COLUMNS(*)
SELECT COUNT(COLUMNS(*)) FROM visits
;
--! SQLError 1:8 | the function UNNEST is not known | UNNEST([1, 2])
SELECT UNNEST([1, 2]), COUNT(*) FROM visits
;
--! SQLError 1:35 | is not a fixed value | RANDOM()
SELECT COUNT(*) FROM visits WHERE RANDOM() < 0.5
;
--! SQLError 1:41 | is not a fixed value | CURRENT_DATE
SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE
;
--! SQLError 1:42 | is not a fixed value | NOW()
SELECT COUNT(*) FROM visits WHERE seen > NOW()
;
--! SQLError 1:14 | the function READ_TEXT is not known | READ_TEXT('/etc/passwd')
SELECT COUNT(READ_TEXT('/etc/passwd')) FROM visits
;
--! SQLError 1:35 | the function EQ is not known | eq(age, 5)
SELECT COUNT(*) FROM visits WHERE eq(age, 5)
;
--! SQLError 1:12 | the function ADD is not known | add(age)
SELECT SUM(add(age)) FROM visits
;
--! SQLError 1:45 | is not a literal | ward
SELECT COUNT(*) FROM visits WHERE name LIKE ward
;
--! SQLError 1:35 | LIKE takes a text | name LIKE 5
SELECT COUNT(*) FROM visits WHERE name LIKE 5
;
--! SQLError 1:35 | is not an expression that is known | age & 1
SELECT COUNT(*) FROM visits WHERE age & 1 = 1
;
--! SQLError 1:35 | indexing is not answered | name
SELECT COUNT(*) FROM visits WHERE name[1] = 'A'
;
--! SQLError 1:36 | is not an expression that is known | age, score
SELECT COUNT(*) FROM visits WHERE (age, score) = (1, 2)
;
--! SQLError | is not an expression that is known | 
SELECT COUNT(*) FROM visits WHERE age > ?
;
--! SQLError | is not an expression that is known | 
SELECT COUNT(*) FROM visits WHERE age > $1
;
--! SQLError 1:12 | there is no CAST to DECIMAL | CAST(cost AS DECIMAL(10, 2))
SELECT SUM(CAST(cost AS DECIMAL(10, 2))) FROM visits
;
--! SQLError 1:12 | there is no CAST to REAL | cost::FLOAT
SELECT SUM(cost::FLOAT) FROM visits
;
--! SQLError 1:12 | there is no CAST to | age::HUGEINT
SELECT SUM(age::HUGEINT) FROM visits
;
--! SQLError 1:14 | there is no CAST to | day::TIMESTAMPTZ
SELECT COUNT(day::TIMESTAMPTZ) FROM visits
;
--! SQLError 1:14 | there is no CAST to | CAST(age AS nonsense)
SELECT COUNT(CAST(age AS nonsense)) FROM visits
;
--! QueryError 1:14 | a DOUBLE does not convert to VARCHAR | cost::VARCHAR
SELECT COUNT(cost::VARCHAR) FROM visits
;
--! QueryError 1:35 | BIGINT and VARCHAR do not mix | age = 'x'
SELECT COUNT(*) FROM visits WHERE age = 'x'
;
--! QueryError 1:35 | BIGINT and VARCHAR do not mix | name > 5
SELECT COUNT(*) FROM visits WHERE name > 5
;
--! QueryError 1:35 | BIGINT and DATE do not mix | day > 5
SELECT COUNT(*) FROM visits WHERE day > 5
;
--! QueryError 1:35 | 'soon' is not a DATE | day > 'soon'
SELECT COUNT(*) FROM visits WHERE day > 'soon'
;
--! SQLError 1:41 | '2024-13-45' is not a DATE | DATE '2024-13-45'
SELECT COUNT(*) FROM visits WHERE day > DATE '2024-13-45'
;
--! QueryError 1:35 | it takes numbers, not VARCHAR | -name
SELECT COUNT(*) FROM visits WHERE -name = 1
;
--! QueryError 1:12 | it takes numbers, not VARCHAR | ward + 1
SELECT SUM(ward + 1) FROM visits
;
--! QueryError 1:8 | it takes numbers, not VARCHAR | ward + 1
SELECT ward + 1, COUNT(*) FROM visits GROUP BY ward
;
--! QueryError 1:35 | BOOLEAN is needed, and BIGINT was given | NOT age
SELECT COUNT(*) FROM visits WHERE NOT age
;
--! QueryError 1:35 | BOOLEAN is needed, and BIGINT was given | age AND active
SELECT COUNT(*) FROM visits WHERE age AND active
;
--! QueryError 1:35 | is a BIGINT, not a condition | age
SELECT COUNT(*) FROM visits WHERE age
;
--! QueryError 1:8 | is a BIGINT, not a condition | COUNT(*)
SELECT COUNT(*) AS n FROM visits HAVING n
;
--! QueryError 1:12 | do not mix | CASE WHEN active THEN 1 ELSE 'x' END
SELECT SUM(CASE WHEN active THEN 1 ELSE 'x' END) FROM visits
;
--! QueryError 1:12 | integer division and MOD take integers | change // 2
SELECT SUM(change // 2) FROM visits
;
--! QueryError 1:8 | integer division and MOD take integers | AVG(cost) % 2
SELECT AVG(cost) % 2 FROM visits
;
--! QueryError 1:12 | it takes a DATE or a TIMESTAMP | EXTRACT(month FROM age)
SELECT SUM(EXTRACT(month FROM age)) FROM visits
;
--! QueryError 1:12 | ROUND takes a number of digits | ROUND(cost, 99)
SELECT SUM(ROUND(cost, 99)) FROM visits
;
--! SQLError 1:24 | is not a literal | age
SELECT SUM(ROUND(cost, age)) FROM visits
;
--! SQLError 1:12 | is not understood here | CEIL(cost, 1)
SELECT SUM(CEIL(cost, 1)) FROM visits
;
--! SQLError 1:23 | is not a literal | age
SELECT SUM(POWER(age, age)) FROM visits
;
--! QueryError 1:12 | POWER takes | POWER(age, 1e9)
SELECT SUM(POWER(age, 1e9)) FROM visits
;
--! SQLError 1:14 | too few or too many arguments | SUBSTRING(name)
SELECT COUNT(SUBSTRING(name)) FROM visits
;
--! QueryError 1:14 | SUBSTRING takes a start of 1 or more | SUBSTRING(name, 0, 2)
SELECT COUNT(SUBSTRING(name, 0, 2)) FROM visits
;
--! SQLError 1:14 | TRIM removes spaces only | TRIM(BOTH 'x' FROM name)
SELECT COUNT(TRIM(BOTH 'x' FROM name)) FROM visits
;
--! SQLError 1:35 | SYMMETRIC is not understood here | age BETWEEN SYMMETRIC 9 AND 5
SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 9 AND 5
;
--! SQLError 1:42 | is no finite number | 1e400
SELECT COUNT(*) FROM visits WHERE cost > 1e400
;
--! SQLError 1:41 | is not an expression that is known | age
SELECT COUNT(*) FROM visits WHERE {'a': age} = 1
;
--! SQLError 1:47 | is not an expression that is known | 1, 2
SELECT COUNT(*) FROM visits WHERE age = ANY ([1, 2])
;

-- == dates, patterns and nested types
--! SQLError 1:42 | is not a fixed value | get_current_timestamp()
SELECT COUNT(*) FROM visits WHERE seen > get_current_timestamp()
;
--! SQLError 1:41 | is not a fixed value | today()
SELECT COUNT(*) FROM visits WHERE day > today()
;
--! SQLError 1:42 | is not a fixed value | CURRENT_TIMESTAMP
SELECT COUNT(*) FROM visits WHERE seen > CURRENT_TIMESTAMP
;
--! SQLError 1:41 | is not a fixed value | CURRENT_DATE
SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE - INTERVAL 30 DAY
;
--! SQLError 1:35 | AGE is not answered | age(day)
SELECT COUNT(*) FROM visits WHERE age(day) > INTERVAL 1 YEAR
;
--! SQLError 1:14 | time zones are not converted | seen AT TIME ZONE 'UTC'
SELECT COUNT(seen AT TIME ZONE 'UTC') FROM visits
;
--! SQLError 1:14 | time zones are not converted | timezone('UTC', seen)
SELECT COUNT(timezone('UTC', seen)) FROM visits
;
--! SQLError 1:12 | DATE_SUB is not answered | date_sub('month', day, seen)
SELECT SUM(date_sub('month', day, seen)) FROM visits
;
--! QueryError 1:14 | TIMESTAMP and TIMESTAMP have no such sum or difference | seen - TIMESTAMP '2024-01-01 00:00:00'
SELECT COUNT(seen - TIMESTAMP '2024-01-01 00:00:00') FROM visits
;
--! QueryError 1:14 | DATE and TIMESTAMP have no such sum or difference | day + seen
SELECT COUNT(day + seen) FROM visits
;
--! QueryError 1:14 | DATE and DOUBLE have no such sum or difference | day + 0.5
SELECT COUNT(day + 0.5) FROM visits
;
--! QueryError 1:14 | BIGINT and DATE have no such sum or difference | 5 - day
SELECT COUNT(5 - day) FROM visits
;
--! QueryError 1:14 | it takes numbers, not DATE | day * 2
SELECT COUNT(day * 2) FROM visits
;
--! SQLError 1:14 | it has no interval of whole units | day + INTERVAL '1.5'
SELECT COUNT(day + INTERVAL '1.5' DAY) FROM visits
;
--! SQLError 1:14 | it has no interval of whole units | day
SELECT COUNT(day + INTERVAL 1 FORTNIGHT) FROM visits
;
--! SQLError 1:29 | is not a literal | (age)
SELECT COUNT(day + INTERVAL (age) DAY) FROM visits
;
--! QueryError 1:14 | parts of the interval have different signs | day + INTERVAL '1 month -1 day'
SELECT COUNT(day + INTERVAL '1 month -1 day') FROM visits
;
--! QueryError 1:14 | the interval is longer than the calendar | day
SELECT COUNT(day + INTERVAL 20000 YEAR) FROM visits
;
--! QueryError 1:14 | it takes a DATE or a TIMESTAMP, not BIGINT | age
SELECT COUNT(age + INTERVAL 1 DAY) FROM visits
;
--! SQLError 1:14 | an INTERVAL stands beside a date, after + or - | INTERVAL
SELECT COUNT(INTERVAL 1 DAY) FROM visits
;
--! QueryError 1:12 | DATE_DIFF knows no 'fortnight' | DATE_DIFF('fortnight', day, seen)
SELECT SUM(DATE_DIFF('fortnight', day, seen)) FROM visits
;
--! QueryError 1:12 | TIMESTAMP is needed, and BIGINT was given | DATE_DIFF('day', age, seen)
SELECT SUM(DATE_DIFF('day', age, seen)) FROM visits
;
--! QueryError 1:12 | 'soon' is not a TIMESTAMP | DATE_DIFF('day', day, 'soon')
SELECT SUM(DATE_DIFF('day', day, 'soon')) FROM visits
;
--! QueryError 1:14 | DATE_TRUNC knows no 'fortnight' | DATE_TRUNC('fortnight', day)
SELECT COUNT(DATE_TRUNC('fortnight', day)) FROM visits
;
--! QueryError 1:14 | the format '%f' is not written the same on every engine | strftime(seen, '%f')
SELECT COUNT(strftime(seen, '%f')) FROM visits
;
--! QueryError 1:14 | it takes a DATE or a TIMESTAMP, not BIGINT | strftime(age, '%Y')
SELECT COUNT(strftime(age, '%Y')) FROM visits
;
--! SQLError 1:14 | counts of seconds and timestamps are not converted | epoch_ms(seen)
SELECT COUNT(epoch_ms(seen)) FROM visits
;
--! SQLError 1:14 | text is not parsed by a format | strptime(name, '%Y')
SELECT COUNT(strptime(name, '%Y')) FROM visits
;
--! QueryError 1:35 | the pattern has the escape '\\1' | regexp_matches(name, '(a)\1')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, '(a)\1')
;
--! QueryError 1:35 | the pattern has a group with (?, other than (?: | regexp_matches(name, '(?=a)')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, '(?=a)')
;
--! QueryError 1:35 | the pattern has a repetition of a repetition | regexp_matches(name, 'a++')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, 'a++')
;
--! QueryError 1:35 | the pattern has a [ that is not closed, or a bracket in it that is not | regexp_matches(name, '[a')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, '[a')
;
--! QueryError 1:35 | the pattern has a ( that is not closed | regexp_matches(name, '(a')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, '(a')
;
--! QueryError 1:35 | the pattern has a repetition of nothing | regexp_matches(name, '*a')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, '*a')
;
--! QueryError 1:35 | the pattern has a repetition that is no count up to 500 | regexp_matches(name, 'a{2000}')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, 'a{2000}')
;
--! QueryError 1:35 | the pattern has more than 500 characters, with repetitions written out | regexp_matches(name, '((a{1,30}){1,30}){1,30}')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, '((a{1,30}){1,30}){1,30}')
;
--! QueryError 1:35 | the pattern has the escape '\\p' | regexp_matches(name, '\p{Greek}')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, '\p{Greek}')
;
--! QueryError 1:35 | the pattern has letters beyond ASCII, whose cases engines match differ | regexp_matches(name, 'é', 'i')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, 'é', 'i')
;
--! QueryError 1:35 | the option 'x' is not known | regexp_matches(name, 'a', 'x')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, 'a', 'x')
;
--! SQLError 1:56 | is not a literal | ward
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, ward)
;
--! QueryError 1:35 | the pattern has a range of characters that goes down | regexp_matches(name, '[z-a]')
SELECT COUNT(*) FROM visits WHERE regexp_matches(name, '[z-a]')
;
--! QueryError 1:35 | the pattern has letters whose cases engines match differently | name ILIKE 'İ%'
SELECT COUNT(*) FROM visits WHERE name ILIKE 'İ%'
;
--! SQLError 1:46 | is not a literal | ward
SELECT COUNT(*) FROM visits WHERE name ILIKE ward
;
--! QueryError 1:35 | the pattern ends with its escape character | name LIKE 'a!'
SELECT COUNT(*) FROM visits WHERE name LIKE 'a!' ESCAPE '!'
;
--! QueryError 1:35 | ESCAPE takes one character | name LIKE 'a'
SELECT COUNT(*) FROM visits WHERE name LIKE 'a' ESCAPE '!!'
;
--! SQLError 1:35 | GLOB is not answered | name GLOB 'a*'
SELECT COUNT(*) FROM visits WHERE name GLOB 'a*'
;
--! QueryError 1:35 | the text to look for is empty or no text | strpos(name, '')
SELECT COUNT(*) FROM visits WHERE strpos(name, '') = 1
;
--! QueryError 1:14 | RIGHT takes a length from 0 to 10000 | RIGHT(name, -1)
SELECT COUNT(RIGHT(name, -1)) FROM visits
;
--! QueryError 1:14 | LPAD fills up with one character | LPAD(name, 3, 'xy')
SELECT COUNT(LPAD(name, 3, 'xy')) FROM visits
;
--! QueryError 1:14 | SPLIT_PART counts parts from 1 | SPLIT_PART(name, ',', 0)
SELECT COUNT(SPLIT_PART(name, ',', 0)) FROM visits
;
--! SQLError 1:14 | the function REVERSE is not known | reverse(name)
SELECT COUNT(reverse(name)) FROM visits
;
--! SQLError 1:14 | the function MD5 is not known | md5(name)
SELECT COUNT(md5(name)) FROM visits
;
--! SQLError 1:14 | the function HASH is not known | hash(name)
SELECT COUNT(hash(name)) FROM visits
;
--! SQLError 1:12 | takes base 2 or 10 | LOG(3, age)
SELECT SUM(LOG(3, age)) FROM visits
;
--! SQLError 1:12 | the function TAN is not known | TAN(age)
SELECT SUM(TAN(age)) FROM visits
;
--! UnboundedError 1:8 | has no bounds | SUM(LOG10(weight))
SELECT SUM(LOG10(weight)) FROM visits
;
--! SQLError 1:14 | the function XOR is not known | xor(age, 1)
SELECT COUNT(xor(age, 1)) FROM visits
;
--! SQLError 1:18 | Expecting ) | #
SELECT COUNT(age # 1) FROM visits
;
--! SQLError 1:15 | a list cannot stand here | age, 1
SELECT COUNT([age, 1]) FROM visits
;
--! SQLError 1:14 | the function STRUCT_PACK is not known | struct_pack(a := age)
SELECT COUNT(struct_pack(a := age)) FROM visits
;
--! SQLError 1:19 | is not an expression that is known | 'a': age
SELECT COUNT(MAP {'a': age}) FROM visits
;
--! SQLError 1:14 | indexing is not answered yet | tags
SELECT COUNT(tags[1]) FROM visits
;
--! SQLError 1:35 | a column of type | tags
SELECT COUNT(*) FROM visits WHERE tags = ['a']
;
--! SQLError 1:35 | the function LIST_CONTAINS is not known | list_contains(tags, 'a')
SELECT COUNT(*) FROM visits WHERE list_contains(tags, 'a')
;
--! SQLError 1:44 | a column of type | tags
SELECT tags, COUNT(*) FROM visits GROUP BY tags
;
--! SQLError 1:14 | a column of type | zoned
SELECT COUNT(zoned) FROM visits
;
--! SQLError 1:26 | a column of type | zoned
SELECT date_trunc('day', zoned) AS d, COUNT(*) FROM visits GROUP BY d
;
--! SQLError 1:14 | there is no CAST to TIME | CAST(day AS TIME)
SELECT COUNT(CAST(day AS TIME)) FROM visits
;
--! SQLError 1:14 | there is no CAST to INTERVAL | CAST(name AS INTERVAL)
SELECT COUNT(CAST(name AS INTERVAL)) FROM visits
;
--! QueryError 1:35 | 'soon' is not a DATE | day IN ('2024-01-01', 'soon')
SELECT COUNT(*) FROM visits WHERE day IN ('2024-01-01', 'soon')
;
--! QueryError 1:35 | the list holds numbers that are not integers | age IN (1.5)
SELECT COUNT(*) FROM visits WHERE age IN (1.5)
;
--! QueryError 1:12 | BIGINT and DATE do not mix | IF(active, day, age)
SELECT SUM(IF(active, day, age)) FROM visits
;
--! QueryError 1:56 | adds up a VARCHAR | SUM(name)
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING SUM(name) > 1
;
--! SQLError 1:60 | it is neither a group key nor inside an aggregate | sex
SELECT ward AS w, COUNT(*) FROM visits GROUP BY w ORDER BY sex
;


-- == other dialects
--! SQLError 1:35 | SIMILAR TO means something else in postgres | name SIMILAR TO 'a%'
--: dialect postgres
SELECT COUNT(*) FROM visits WHERE name SIMILAR TO 'a%'
;
--! SQLError 1:42 | is not a fixed value | NOW()
--: dialect postgres
SELECT COUNT(*) FROM visits WHERE seen > NOW()
;
--! SQLError 1:35 | the number of a week means something else in mysql | WEEK(day)
--: dialect mysql
SELECT COUNT(*) FROM visits WHERE WEEK(day) = 5
;
--! QueryError 1:35 | BOOLEAN is needed, and VARCHAR was given | ward || sex = 'erf'
--: dialect mysql
SELECT COUNT(*) FROM visits WHERE ward || sex = 'erf'
;
--! SQLError 1:8 | WEEK, which begins on Sunday, means something else in bigquery | DATE_TRUNC(day, WEEK)
--: dialect bigquery
SELECT DATE_TRUNC(day, WEEK) AS w, COUNT(*) FROM visits GROUP BY w
;
--! SQLError 1:12 | a difference in units of week means something else in bigquery | DATE_DIFF(day, DATE '2024-01-01', WEEK)
--: dialect bigquery
SELECT SUM(DATE_DIFF(day, DATE '2024-01-01', WEEK)) FROM visits
;
--! SQLError 1:12 | the number of a week means something else in bigquery | EXTRACT(WEEK FROM day)
--: dialect bigquery
SELECT SUM(EXTRACT(WEEK FROM day)) FROM visits
;
--! SQLError 1:12 | a difference in units of month means something else in spark | DATEDIFF(MONTH, DATE '2024-01-01', day)
--: dialect spark
SELECT SUM(DATEDIFF(MONTH, DATE '2024-01-01', day)) FROM visits
;
--! SQLError 1:12 | the function BROUND of spark is not known | bround(cost)
--: dialect spark
SELECT SUM(bround(cost)) FROM visits
;
--! SQLError 1:35 | no such column | nothing
--: dialect spark
SELECT COUNT(*) FROM visits WHERE nothing > 5
;
--! SQLError 1:30 | the day of the week means something else in tsql | day
--: dialect tsql
SELECT SUM(DATEPART(weekday, day)) FROM visits
;
--! SQLError 1:35 | [ in a pattern means something else in tsql | name LIKE '[ab]%'
--: dialect tsql
SELECT COUNT(*) FROM visits WHERE name LIKE '[ab]%'
;
--! SQLError 1:12 | LEN, which leaves out trailing spaces, means something else in tsql | LEN(name)
--: dialect tsql
SELECT SUM(LEN(name)) FROM visits
;
--! SQLError 1:12 | a difference in units of month means something else in trino | date_diff('month', DATE '2024-01-01', day)
--: dialect trino
SELECT SUM(date_diff('month', DATE '2024-01-01', day)) FROM visits
;
--! SQLError 1:35 | VARIANT EXTRACT is not understood here | name
--: dialect snowflake
SELECT COUNT(*) FROM visits WHERE name:first = 'a'
;
--! SQLError 1:8 | 'th' in its format is not known | TO_CHAR(day, 'Month')
--: dialect postgres
SELECT TO_CHAR(day, 'Month') AS m, COUNT(*) FROM visits GROUP BY m
;
--! SQLError 1:8 | 'M' in its format is not known | DATE_FORMAT(day, 'M')
--: dialect spark
SELECT DATE_FORMAT(day, 'M') AS m, COUNT(*) FROM visits GROUP BY m
;
--! SQLError 1:8 | the format 'M' depends on a language | FORMAT(day, 'M')
--: dialect tsql
SELECT FORMAT(day, 'M') AS m, COUNT(*) FROM visits GROUP BY m
;
--! QueryError 1:8 | EVERY(active) cannot be released | EVERY(active)
--: dialect postgres
SELECT EVERY(active) FROM visits
;
--! QueryError 1:8 | IQR(age, 2) is not an aggregate that can be measured | IQR(age, 2)
SELECT IQR(age, 2) FROM visits
;
--! QueryError 1:8 | IQR(DISTINCT age) is not supported | IQR(DISTINCT age)
SELECT IQR(DISTINCT age) FROM visits
;
--! SQLError 1:8 | WITHIN GROUP goes with a percentile or the MODE of one column | MODE() WITHIN GROUP (ORDER BY ward, age)
SELECT MODE() WITHIN GROUP (ORDER BY ward, age) FROM visits
;
--! SQLError 1:25 | QUALIFY is not answered over private rows | QUALIFY
--: dialect snowflake
SELECT ward FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY ward) = 1
;
--! ParameterError | the cost is said twice | 
--: dialect bigquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM visits
;
--! SQLError 1:8 | age is not the protected unit | WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = age)
--: dialect bigquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = age) COUNT(*) FROM visits
;
--! SQLError 1:42 | it is not for a query to say | max_groups_contributed = 2
--: dialect bigquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 2) COUNT(*) FROM visits
;
--! SQLError 1:42 | it is not a positive number | epsilon = -1
--: dialect bigquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = -1) COUNT(*) FROM visits
;
--! SQLError 1:42 | the option is not known | kappa = 3
--: dialect bigquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(kappa = 3) COUNT(*) FROM visits
;
--! SQLError 3:9 | no such column | nothing
--: dialect bigquery
SELECT WITH DIFFERENTIAL_PRIVACY
  OPTIONS(delta = 1e-9)
  COUNT(nothing) FROM visits
;
--! SQLError 1:8 | every aggregate is made private here | ANON_COUNT
--: dialect bigquery
SELECT ANON_COUNT(*) FROM visits
;
--! SQLError 1:8 | every aggregate is made private here | ANON_AVG
--: dialect bigquery
SELECT ANON_AVG(age CLAMPED BETWEEN 0 AND 100) FROM visits
;
--! SQLError 1:65 | bounds are not for a query to say | contribution_bounds_per_group
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 1e-9) SUM(age, contribution_bounds_per_group => (0, 100)) FROM visits
;

-- == keys that are not public
--! QueryError 1:17 | has no public set of values | cost
SELECT DISTINCT cost FROM visits
;
--! QueryError 1:52 | has no public set of values | change
SELECT name, change, COUNT(*) FROM visits GROUP BY change, name
;
--! QueryError 1:8 | has no public set of values | weight / 2
SELECT weight / 2 AS w, COUNT(*) FROM visits GROUP BY w
;
--! QueryError 1:17 | names the protected unit | id
SELECT DISTINCT id FROM visits
;
--! QueryError 1:23 | names the protected unit | id
SELECT DISTINCT name, id FROM visits
;
--! SQLError 1:8 | DISTINCT is not answered | DISTINCT
SELECT DISTINCT name, COUNT(*) FROM visits GROUP BY name
;
--! SQLError 1:8 | DISTINCT is not answered | DISTINCT
SELECT DISTINCT name FROM visits GROUP BY name
;
--! SQLError 1:8 | DISTINCT is not answered | DISTINCT
SELECT DISTINCT name, COUNT(*) FROM visits
;
--! SQLError 1:8 | DISTINCT is not answered | DISTINCT
SELECT DISTINCT ON (ward) name FROM visits
;
--! SQLError 1:8 | DISTINCT is not answered | DISTINCT
SELECT DISTINCT ward FROM visits ORDER BY COUNT(*)
;
--! SQLError 1:17 | the query returns rows | *
SELECT DISTINCT * FROM visits
;
--! SQLError 1:17 | the query returns rows | 1
SELECT DISTINCT 1 FROM visits
;
--! SQLError 1:17 | cannot be used | tags
SELECT DISTINCT tags FROM visits
;
--! SQLError 1:43 | neither a group key nor inside an aggregate | age
SELECT DISTINCT name FROM visits ORDER BY age
;

-- == several groupings
--! SQLError 1:52 | a grouping takes columns | 2
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (2)
;
--! SQLError 1:35 | a grouping is listed twice | GROUP BY
SELECT ward, COUNT(*) FROM visits GROUP BY GROUPING SETS ((ward), (ward))
;
--! SQLError 1:35 | a grouping is listed twice | GROUP BY
SELECT ward, COUNT(*) FROM visits GROUP BY ward, ROLLUP (ward)
;
--! SQLError 1:35 | there are 128 groupings | GROUP BY
SELECT ward, COUNT(*) FROM visits GROUP BY CUBE (ward, sex, active, age, score, day, "Home Zip")
;
--! QueryError 1:52 | has no public set of values | cost
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (cost, ward)
;
--! QueryError 1:52 | names the protected unit | id
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (id, ward)
;
--! QueryError 1:44 | groups | ward
SELECT COUNT(*) FROM visits GROUP BY CUBE (ward), age, score, day
;
--! SQLError 1:17 | it is no group key | sex
SELECT GROUPING(sex), COUNT(*) FROM visits GROUP BY ROLLUP (ward)
;
--! SQLError 1:31 | an aggregate cannot stand here | GROUPING(ward)
SELECT COUNT(*) FILTER (WHERE GROUPING(ward) = 0) FROM visits GROUP BY ROLLUP (ward)
;
--! SQLError 1:52 | is an aggregate, and groups are made before | COUNT(*)
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (COUNT(*))
;
--! SQLError 1:8 | neither a group key nor inside an aggregate | age
SELECT age, COUNT(*) FROM visits GROUP BY ROLLUP (ward, sex)
;
--! SQLError 1:56 | no such column | nothing
SELECT ward, COUNT(*) FROM visits GROUP BY CUBE (ward, nothing)
;
;

-- == quantiles and histograms
--! UnboundedError 1:8 | has no bounds | MEDIAN(id)
SELECT MEDIAN(id) FROM visits
;
--! QueryError 1:8 | orders a VARCHAR | MIN(name)
SELECT MIN(name) FROM visits
;
--! QueryError 1:8 | orders a BOOLEAN | MAX(active)
SELECT MAX(active) FROM visits
;
--! QueryError 1:8 | has no quantile between 0 and 1 | QUANTILE_CONT(age, 1.5)
SELECT QUANTILE_CONT(age, 1.5) FROM visits
;
--! QueryError 1:8 | has no quantile between 0 and 1 | QUANTILE_CONT(age, score)
SELECT QUANTILE_CONT(age, score) FROM visits
;
--! QueryError 1:8 | has 1 arguments | QUANTILE_CONT(age)
SELECT QUANTILE_CONT(age) FROM visits
;
--! QueryError 1:8 | is not supported | MEDIAN(DISTINCT age)
SELECT MEDIAN(DISTINCT age) FROM visits
;
--! SQLError 1:28 | a list cannot stand here | 0.25, 0.5
SELECT QUANTILE_CONT(age, [0.25, 0.5]) + 1 FROM visits
;
--! SQLError 1:43 | a list cannot stand here | 0.25, 0.5
SELECT q FROM (SELECT QUANTILE_CONT(age, [0.25, 0.5]) AS q FROM visits)
;
--! SQLError 1:8 | there are 0 quantiles in the list | QUANTILE_CONT(age, [])
SELECT QUANTILE_CONT(age, []) FROM visits
;
--! QueryError 1:8 | has no quantile between 0 and 1 | QUANTILE_DISC(age, [0.5, 1.5])
SELECT QUANTILE_DISC(age, [0.5, 1.5]) FROM visits
;
--! QueryError 1:8 | has no quantile between 0 and 1 | QUANTILE_CONT(age, [0.5, NULL])
SELECT QUANTILE_CONT(age, [0.5, NULL]) FROM visits
;
--! SQLError 1:86 | neither compared nor ordered | q
SELECT ward, QUANTILE_CONT(age, [0.25, 0.5]) AS q FROM visits GROUP BY ward ORDER BY q
;
--! SQLError 1:86 | neither compared nor ordered | 2
SELECT ward, QUANTILE_CONT(age, [0.25, 0.5]) AS q FROM visits GROUP BY ward ORDER BY 2
;
--! SQLError 1:84 | neither compared nor ordered | q
SELECT ward, QUANTILE_CONT(age, [0.25, 0.5]) AS q FROM visits GROUP BY ward HAVING q > 3
;
--! QueryError 1:8 | has 2 arguments | MAX(age, 3)
SELECT MAX(age, 3) FROM visits
;
--! SQLError 1:8 | WITHIN GROUP goes with a percentile or the MODE of one column | PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, score)
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, score) FROM visits
;
--! SQLError 1:8 | HISTOGRAM makes a row for each bin | HISTOGRAM(age, 11)
SELECT HISTOGRAM(age, 11) + 1 FROM visits
;
--! SQLError 1:8 | HISTOGRAM makes a row for each bin | HISTOGRAM(age, 11)
SELECT HISTOGRAM(age, 11) OVER () FROM visits
;
--! SQLError 1:35 | HISTOGRAM makes a row for each bin | HISTOGRAM(age, 11)
SELECT COUNT(*) FROM visits WHERE HISTOGRAM(age, 11) > 3
;
--! SQLError 1:36 | HISTOGRAM makes a row for each bin | HISTOGRAM(age, 11)
SELECT COUNT(*) FROM visits HAVING HISTOGRAM(age, 11) > 3
;
--! SQLError 1:48 | HISTOGRAM makes a row for each bin | HISTOGRAM(age, 11)
SELECT HISTOGRAM(age, 11) FROM visits GROUP BY HISTOGRAM(age, 11)
;
--! SQLError 1:38 | HISTOGRAM makes a row for each bin | HISTOGRAM(age, 11)
SELECT COUNT(*) FROM (SELECT id, SUM(HISTOGRAM(age, 11)) FROM visits GROUP BY id)
;
--! SQLError 1:28 | HISTOGRAM has no other aggregates beside it | COUNT(*)
SELECT HISTOGRAM(age, 11), COUNT(*) FROM visits
;
--! SQLError 1:28 | HISTOGRAM has no other aggregates beside it | HISTOGRAM(score, 5)
SELECT HISTOGRAM(age, 11), HISTOGRAM(score, 5) FROM visits
;
--! SQLError 1:46 | HISTOGRAM has no other aggregates beside it | AVG(age)
SELECT HISTOGRAM(age, 11) FROM visits HAVING AVG(age) > 3
;
--! SQLError 1:48 | HISTOGRAM has no other aggregates beside it | COUNT(*)
SELECT HISTOGRAM(age, 11) FROM visits ORDER BY COUNT(*)
;
--! SQLError 1:8 | HISTOGRAM has 0 arguments | HISTOGRAM()
SELECT HISTOGRAM() FROM visits
;
--! SQLError 1:8 | HISTOGRAM has 3 arguments | HISTOGRAM(age, 11, 5)
SELECT HISTOGRAM(age, 11, 5) FROM visits
;
--! SQLError 1:8 | HISTOGRAM has 3 arguments | HISTOGRAM(ward, sex, age)
SELECT HISTOGRAM(ward, sex, age) FROM visits
;
--! SQLError 1:24 | is not a literal | cost
SELECT HISTOGRAM(ward, cost) FROM visits
;
--! SQLError 1:8 | HISTOGRAM has 3 arguments | HISTOGRAM(UPPER(ward), age, 11)
SELECT HISTOGRAM(UPPER(ward), age, 11) FROM visits
;
--! SQLError 1:8 | both values of the plane are the same | HISTOGRAM(ward, ward)
SELECT HISTOGRAM(ward, ward) FROM visits
;
--! SQLError 1:8 | margins goes with bins | HISTOGRAM(ward, sex, margins := TRUE)
SELECT HISTOGRAM(ward, sex, margins := TRUE) FROM visits
;
--! ParameterError 1:8 | cumulative is for bins of one column | HISTOGRAM(ward, age, 11, cumulative := TRUE)
SELECT HISTOGRAM(ward, age, 11, cumulative := TRUE) FROM visits
;
--! SQLError 1:8 | HISTOGRAM has no option levels | HISTOGRAM(age, 11, levels := TRUE)
SELECT HISTOGRAM(age, 11, levels := TRUE) FROM visits
;
--! SQLError 1:8 | both values of the plane are the same | HISTOGRAM(age, 11, age, 5)
SELECT HISTOGRAM(age, 11, age, 5) FROM visits
;
--! SQLError 1:8 | HISTOGRAM has 5 arguments | HISTOGRAM(age, 11, score, 5, cost)
SELECT HISTOGRAM(age, 11, score, 5, cost) FROM visits
;
--! ParameterError 1:8 | bins=0 is not a whole number | HISTOGRAM(age, 11, score, 0)
SELECT HISTOGRAM(age, 11, score, 0) FROM visits
;
--! ParameterError 1:8 | options of a histogram go with all of its bins | HISTOGRAM(age, 11, score, 5, margins := TRUE)
SELECT HISTOGRAM(age, 11, score, 5, margins := TRUE) FROM visits LIMIT 3
;
--! ParameterError 1:8 | margins is for a histogram of two columns | HISTOGRAM(age, 11, margins := TRUE)
SELECT HISTOGRAM(age, 11, margins := TRUE) FROM visits
;
--! ParameterError 1:8 | cumulative is for bins of one column | HISTOGRAM(age, 11, score, 5, cumulative := TRUE)
SELECT HISTOGRAM(age, 11, score, 5, cumulative := TRUE) FROM visits
;
--! SQLError 1:8 | HISTOGRAM has 3 arguments | HISTOGRAM(age, 11, cumulative = TRUE)
SELECT HISTOGRAM(age, 11, cumulative = TRUE) FROM visits
;
--! SQLError 1:8 | cumulative is said twice | HISTOGRAM(age, 11, cumulative := TRUE, CUMULATIVE := FALSE)
SELECT HISTOGRAM(age, 11, cumulative := TRUE, CUMULATIVE := FALSE) FROM visits
;
--! SQLError 1:8 | hierarchical is neither TRUE nor FALSE | HISTOGRAM(age, 11, hierarchical := 3)
SELECT HISTOGRAM(age, 11, hierarchical := 3) FROM visits
;
--! SQLError 1:8 | hierarchical is neither TRUE nor FALSE | HISTOGRAM(age, 11, hierarchical := active)
SELECT HISTOGRAM(age, 11, hierarchical := active) FROM visits
;
--! SQLError 1:8 | cumulative is neither TRUE nor FALSE | HISTOGRAM(age, 11, cumulative := NULL)
SELECT HISTOGRAM(age, 11, cumulative := NULL) FROM visits
;
--! SQLError 1:8 | HISTOGRAM has 0 arguments | HISTOGRAM(cumulative := TRUE)
SELECT HISTOGRAM(cumulative := TRUE) FROM visits
;
--! SQLError 1:8 | consistent goes with bins | HISTOGRAM(sex, consistent := TRUE)
SELECT HISTOGRAM(sex, consistent := TRUE) FROM visits
;
--! ParameterError 1:8 | options of a histogram go with all of its bins | HISTOGRAM(age, 11, cumulative := TRUE)
SELECT HISTOGRAM(age, 11, cumulative := TRUE) AS n FROM visits ORDER BY n
;
--! ParameterError 1:8 | options of a histogram go with all of its bins | HISTOGRAM(age, 11, hierarchical := TRUE)
SELECT HISTOGRAM(age, 11, hierarchical := TRUE) AS n FROM visits HAVING n > 3
;
--! ParameterError 1:13 | options of a histogram go with all of its bins | HISTOGRAM(age, 11, nonnegative := TRUE)
SELECT sex, HISTOGRAM(age, 11, nonnegative := TRUE) FROM visits GROUP BY ROLLUP (sex)
;
--! ParameterError 1:25 | options of a histogram go with all of its bins | HISTOGRAM(age, 11, cumulative := TRUE)
SELECT low FROM (SELECT HISTOGRAM(age, 11, cumulative := TRUE) FROM visits)
;
--! SQLError 1:8 | HISTOGRAM(DISTINCT x) is not answered | HISTOGRAM(DISTINCT age, 11)
SELECT HISTOGRAM(DISTINCT age, 11) FROM visits
;
--! SQLError 1:8 | HISTOGRAM(*) is not answered | HISTOGRAM(*)
SELECT HISTOGRAM(*) FROM visits
;
--! ParameterError 1:8 | bins=0 is not a whole number | HISTOGRAM(age, 0)
SELECT HISTOGRAM(age, 0) FROM visits
;
--! ParameterError 1:8 | bins=-3 is not a whole number | HISTOGRAM(age, -3)
SELECT HISTOGRAM(age, -3) FROM visits
;
--! ParameterError 1:8 | bins=1.5 is not a whole number | HISTOGRAM(age, 1.5)
SELECT HISTOGRAM(age, 1.5) FROM visits
;
--! ParameterError 1:8 | bins=True is not a whole number | HISTOGRAM(age, TRUE)
SELECT HISTOGRAM(age, TRUE) FROM visits
;
--! ParameterError 1:8 | bins='11' is not a whole number | HISTOGRAM(age, '11')
SELECT HISTOGRAM(age, '11') FROM visits
;
--! ParameterError 1:8 | bins=1001 is not a whole number from 1 to 1,000 | HISTOGRAM(age, 1001)
SELECT HISTOGRAM(age, 1001) FROM visits
;
--! ParameterError 1:8 | takes either bins= or edges= | HISTOGRAM(age, NULL)
SELECT HISTOGRAM(age, NULL) FROM visits
;
--! SQLError 1:23 | is not a literal | score
SELECT HISTOGRAM(age, score) FROM visits
;
--! SQLError 1:27 | is not a literal | score
SELECT HISTOGRAM(age, [0, score]) FROM visits
;
--! ParameterError 1:8 | lie beyond its range, 0 to 110 | HISTOGRAM(age, [200, 300])
SELECT HISTOGRAM(age, [200, 300]) FROM visits
;
--! ParameterError 1:8 | have 'a', which is no BIGINT | HISTOGRAM(age, ['a', 'b'])
SELECT HISTOGRAM(age, ['a', 'b']) FROM visits
;
--! ParameterError 1:8 | ward is a VARCHAR, and has no bins | HISTOGRAM(ward, ['er', 'icu'])
SELECT HISTOGRAM(ward, ['er', 'icu']) FROM visits
;
--! SQLError 1:8 | only HISTOGRAM is answered | HISTOGRAM_EXACT(age, [0, 10, 20])
SELECT HISTOGRAM_EXACT(age, [0, 10, 20]) FROM visits
;
--! SQLError 1:8 | the function QUANTILE_NEAREST is not known | QUANTILE_NEAREST(n, 0.5)
SELECT QUANTILE_NEAREST(n, 0.5) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! SQLError 1:8 | only HISTOGRAM is answered | histogram_values(age)
SELECT histogram_values(age) FROM visits
;
--! SQLError 1:14 | visits: is a table, which stands for whole rows | visits
SELECT COUNT(visits) FROM visits
;
--! SQLError 1:23 | v: is a table, which stands for whole rows | v
SELECT COUNT(DISTINCT v) FROM visits v
;
--! SQLError 1:38 | visits: is a table, which stands for whole rows | visits
SELECT COUNT(*) FROM visits GROUP BY visits
;
--! SQLError 1:48 | v: is a table, which stands for whole rows | v
SELECT COUNT(*) FROM visits v GROUP BY ROLLUP (v)
;
--! SQLError 1:38 | is not a fixed value | RANDOM()
SELECT COUNT(*) FROM visits GROUP BY RANDOM()
;
--! ParameterError 1:8 | ward is a VARCHAR, and has no bins | HISTOGRAM(ward, 3)
SELECT HISTOGRAM(ward, 3) FROM visits
;
--! ParameterError 1:8 | active is a BOOLEAN, and has no bins | HISTOGRAM(active, 2)
SELECT HISTOGRAM(active, 2) FROM visits
;
--! ParameterError 1:8 | ward is a VARCHAR, and has no bins | HISTOGRAM(age, 11, ward, 3)
SELECT HISTOGRAM(age, 11, ward, 3) FROM visits
;
--! ParameterError 1:8 | do not rise: 3 comes after 5 | HISTOGRAM(age, [5, 3])
SELECT HISTOGRAM(age, [5, 3]) FROM visits
;
--! ParameterError 1:8 | have one edge, and two make a bin | HISTOGRAM(age, [5])
SELECT HISTOGRAM(age, [5]) FROM visits
;
--! ParameterError 1:8 | have no edge, and two make a bin | HISTOGRAM(age, [])
SELECT HISTOGRAM(age, []) FROM visits
;
--! ParameterError 1:8 | have NULL, which is no number | HISTOGRAM(age, [1, NULL])
SELECT HISTOGRAM(age, [1, NULL]) FROM visits
;
--! ParameterError 1:8 | have 1, which is no DATE | HISTOGRAM(day, [1, 2])
SELECT HISTOGRAM(day, [1, 2]) FROM visits
;
--! UnboundedError 1:8 | weight has no range to be cut into bins | HISTOGRAM(weight, 5)
SELECT HISTOGRAM(weight, 5) FROM visits
;
--! UnboundedError 1:8 | name has no range to be cut into bins | HISTOGRAM(name, 5)
SELECT HISTOGRAM(name, 5) FROM visits
;
--! SQLError 1:18 | no such column | nothing
SELECT HISTOGRAM(nothing, 5) FROM visits
;
--! SQLError 1:8 | it is neither a group key nor inside an aggregate | sex
SELECT sex, HISTOGRAM(age, 5) FROM visits
;
--! SQLError 1:48 | GROUP BY takes a key, or its number | 1
SELECT HISTOGRAM(age, 11) FROM visits GROUP BY 1
;
--! SQLError 1:53 | GROUP BY takes a key, or its number | 3
SELECT HISTOGRAM(age, 11), sex FROM visits GROUP BY 3
;
--! QueryError 1:8 | cannot be computed | MAX(seen) - MIN(seen)
SELECT MAX(seen) - MIN(seen) FROM visits
;
--! QueryError 1:8 | cannot be computed | (MAX(seen)) - (MIN(seen))
SELECT (MAX(seen)) - (MIN(seen)) FROM visits
;
--! QueryError 1:8 | cannot be computed | QUANTILE_CONT(day, 0.75) - QUANTILE_CONT(day, 0.25)
SELECT QUANTILE_CONT(day, 0.75) - QUANTILE_CONT(day, 0.25) FROM visits
;
--! QueryError 1:35 | cannot be computed | ((age + 1) * 2) + seen
SELECT COUNT(*) FROM visits WHERE ((age + 1) * 2) + seen > 3
;
--! QueryError 1:8 | has no quantile between 0 and 1 | QUANTILE_CONT(age, 2 / 3 + 1)
SELECT QUANTILE_CONT(age, 2 / 3 + 1) FROM visits
;
--! QueryError 1:8 | has no quantile between 0 and 1 | QUANTILE_CONT(age, 1 / 0)
SELECT QUANTILE_CONT(age, 1 / 0) FROM visits
;
--! QueryError 1:8 | one row decides the answer | EVERY(active)
SELECT EVERY(active) FROM visits
;
--! QueryError 1:8 | the value of a single row | ARBITRARY(ward)
SELECT ARBITRARY(ward) FROM visits
;
--! QueryError 1:8 | the value of a single row | LAST(ward ORDER BY age)
SELECT LAST(ward ORDER BY age) FROM visits
;
--! QueryError 1:8 | it lists the values of single rows | STRING_AGG(ward, ',' ORDER BY age)
SELECT STRING_AGG(ward, ',' ORDER BY age) FROM visits
;
--! QueryError 1:8 | one row decides the answer | EVERY(active) FILTER (WHERE age > 3)
SELECT EVERY(active) FILTER (WHERE age > 3) FROM visits
;
--! UnboundedError 1:8 | has weights that may be negative | WEIGHTED_AVG(age, change)
SELECT WEIGHTED_AVG(age, change) FROM visits
;
--! QueryError 1:8 | has 1 arguments | WEIGHTED_AVG(age)
SELECT WEIGHTED_AVG(age) FROM visits
;
--! QueryError 1:8 | QUANTILE_CONT(cost, 0.75) - QUANTILE_CONT(cost, 0.25) | MAD(cost)
SELECT MAD(cost) FROM visits
;
--! UnboundedError 1:8 | EXP(AVG(LN(GREATEST(cost, 1)))) | GEOMEAN(cost)
SELECT GEOMEAN(cost) FROM visits
;
--! QueryError 1:8 | SUM(LN(GREATEST(cost, 1))) | PRODUCT(cost)
SELECT PRODUCT(cost) FROM visits
;
--! QueryError 1:8 | use one of APPROX_DISTINCT, APPROX_QUANTILE, AVG | ENTROPY(ward)
SELECT ENTROPY(ward) FROM visits
;
--! QueryError 1:8 | ; KURTOSIS_POP is | KURTOSIS_SAMP(cost)
SELECT KURTOSIS_SAMP(cost) FROM visits
;
--! QueryError 1:8 | ; MEDIAN is | MEDAIN(cost)
SELECT MEDAIN(cost) FROM visits
;
--! QueryError 1:8 | is not of numbers | REGR_COUNT(cost, ward)
SELECT REGR_COUNT(cost, ward) FROM visits
;
--! QueryError 1:8 | has 1 arguments | REGR_COUNT(cost)
SELECT REGR_COUNT(cost) FROM visits
;
--! SQLError 1:8 | the function FOO is not known | FOO(SUM(age))
SELECT FOO(SUM(age)) FROM visits
;
--! SQLError 1:14 | window functions of private rows | RANK() OVER (PARTITION BY ward ORDER BY cost)
SELECT ward, RANK() OVER (PARTITION BY ward ORDER BY cost) FROM visits
;
--! SQLError 1:36 | window functions of private rows | SUM(cost) OVER ()
SELECT COUNT(*) FROM visits WHERE (SUM(cost) OVER ()) > 3
;
--! SQLError 1:18 | it is neither a group key nor inside an aggregate | cost
SELECT ward, SUM(cost) OVER (PARTITION BY ward) FROM visits GROUP BY ward
;
--! QueryError 1:105 | depends on noise | COUNT(*) > 3
SELECT ward, SUM(COUNT(*)) OVER (PARTITION BY ward ORDER BY COUNT(*)), AVG(COUNT(*)) OVER (PARTITION BY COUNT(*) > 3) FROM visits GROUP BY ward
;
--! QueryError 1:8 | is not a function that is answered over windows | CORR(COUNT(*), SUM(age)) OVER ()
SELECT CORR(COUNT(*), SUM(age)) OVER () FROM visits GROUP BY ward
;
--! QueryError 1:8 | has no order | NTILE(4) OVER ()
SELECT NTILE(4) OVER () FROM visits GROUP BY ward
;
--! QueryError 1:8 | takes a whole number from 1 on | NTILE(0) OVER (ORDER BY COUNT(*))
SELECT NTILE(0) OVER (ORDER BY COUNT(*)) FROM visits GROUP BY ward
;
--! QueryError 1:8 | takes a whole number from 1 on | NTILE(COUNT(*)) OVER (ORDER BY ward)
SELECT NTILE(COUNT(*)) OVER (ORDER BY ward) FROM visits GROUP BY ward
;
--! QueryError 1:8 | takes a whole number from 1 on | NTH_VALUE(COUNT(*), 1.5) OVER (ORDER BY ward)
SELECT NTH_VALUE(COUNT(*), 1.5) OVER (ORDER BY ward) FROM visits GROUP BY ward
;
--! QueryError 1:8 | takes a level between 0 and 1 | QUANTILE_CONT(n, 2)
SELECT QUANTILE_CONT(n, 2) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! QueryError 1:8 | takes a level between 0 and 1 | QUANTILE_CONT(n, n)
SELECT QUANTILE_CONT(n, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! QueryError 1:8 | is of rows that were kept by noisy numbers | MEDIAN(n)
SELECT MEDIAN(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) WHERE n > 3
;
--! QueryError 1:8 | is of rows that were kept by noisy numbers | STDDEV(n)
SELECT STDDEV(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward QUALIFY RANK() OVER (ORDER BY n) < 3)
;
--! QueryError 1:8 | takes numbers | MEDIAN(ward)
SELECT MEDIAN(ward) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! QueryError 1:8 | takes a condition | COUNT_IF(n)
SELECT COUNT_IF(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! QueryError 1:14 | has no order | RANK
SELECT ward, RANK() OVER () FROM visits GROUP BY ward
;
--! SQLError 1:46 | a window cannot stand in WHERE or HAVING | RANK() OVER (ORDER BY COUNT(*))
SELECT ward FROM visits GROUP BY ward HAVING RANK() OVER (ORDER BY COUNT(*)) = 1
;
--! SQLError 1:8 | there is a window inside a window | SUM(RANK() OVER (ORDER BY COUNT(*))) OVER ()
SELECT SUM(RANK() OVER (ORDER BY COUNT(*))) OVER () FROM visits GROUP BY ward
;
--! SQLError 1:8 | FILTER and IGNORE NULLS | SUM(n) FILTER (WHERE n > 3)
SELECT SUM(n) FILTER (WHERE n > 3) OVER () FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! SQLError 1:8 | the frame of this window is not answered | SUM(COUNT(*)) OVER (ORDER BY age // 10 RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)
SELECT SUM(COUNT(*)) OVER (ORDER BY age // 10 RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM visits GROUP BY age // 10
;
--! SQLError 1:8 | the frame of this window ends before it begins | SUM(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING)
SELECT SUM(COUNT(*)) OVER (ORDER BY ward ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM visits GROUP BY ward
;
--! SQLError 1:8 | the frame of this window ends before it begins | SUM(COUNT(*)) OVER (ORDER BY ward ROWS UNBOUNDED FOLLOWING)
SELECT SUM(COUNT(*)) OVER (ORDER BY ward ROWS UNBOUNDED FOLLOWING) FROM visits GROUP BY ward
;
--! QueryError 1:8 | is not answered of released numbers | MODE(n)
SELECT MODE(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! QueryError 1:8 | adds up what is no number | SUM(ward)
SELECT SUM(ward) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! QueryError 1:8 | depends on noise, and rows are put together by it | n > 3
SELECT n > 3, COUNT(*) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) GROUP BY 1
;
--! QueryError | LIMIT keeps rows by noisy numbers | 
SELECT SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2)
;
--! SQLError 1:96 | several groupings of a released table | ward
SELECT ward, SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) GROUP BY CUBE (ward)
;
--! SQLError 1:14 | a subquery cannot stand here | (SELECT COUNT(*) FROM visits)
SELECT ward, (SELECT COUNT(*) FROM visits) AS n FROM visits GROUP BY ward
;
--! SQLError 1:48 | the subquery has several columns n | COUNT(*) AS n
SELECT SUM(n) OVER (), ward FROM (SELECT ward, COUNT(*) AS n, COUNT(*) AS n FROM visits GROUP BY ward)
;
--! SQLError 1:48 | a name cannot begin with __dpframe | COUNT(*) AS "__dpframe_row"
SELECT SUM("__dpframe_row") FROM (SELECT ward, COUNT(*) AS "__dpframe_row" FROM visits GROUP BY ward)
;
--! SQLError 1:34 | HISTOGRAM makes a row for each bin | HISTOGRAM(age, 5)
SELECT COUNT(*) FROM (SELECT 1 + HISTOGRAM(age, 5) FROM visits) AS h
;
