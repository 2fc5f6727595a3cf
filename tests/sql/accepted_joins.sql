-- Statements over several tables that are answered: test_joins.py runs them without noise and
-- compares them with plain DuckDB, as test_accepted.py does. The tables are in shop.py: customers
-- and orders are private, and their unit is a customer; of clicks each row is a unit; products,
-- makers and tags are public.

-- == private with private, on the unit

-- an inner join
SELECT COUNT(*), SUM(amount) FROM customers JOIN orders ON id = customer;
-- the equation the other way round
SELECT COUNT(*) FROM customers JOIN orders ON customer = id;
-- INNER JOIN with aliases
SELECT c.city, COUNT(*) AS n, SUM(o.amount) AS s FROM customers AS c INNER JOIN orders AS o ON c.id = o.customer GROUP BY c.city;
-- the comma
SELECT COUNT(*), AVG(age) FROM customers, orders WHERE id = customer;
-- the comma, with other conditions around the equation
SELECT COUNT(*) FROM orders, customers WHERE amount > 20 AND customer = id AND age < 60;
-- CROSS JOIN with the equation in WHERE
SELECT COUNT(*) FROM customers CROSS JOIN orders WHERE id = customer;
-- LEFT JOIN keeps customers without orders
SELECT COUNT(*), COUNT(amount), COUNT(customer) FROM customers LEFT JOIN orders ON id = customer;
-- LEFT JOIN with a condition on the right side alone
SELECT COUNT(*), COUNT(amount) FROM customers LEFT JOIN orders ON id = customer AND amount > 50;
-- LEFT OUTER JOIN, and what is missing
SELECT COUNT(*) FROM customers LEFT OUTER JOIN orders ON id = customer WHERE customer IS NULL;
-- a LEFT JOIN that WHERE makes an inner one
SELECT COUNT(*) FROM customers LEFT JOIN orders ON id = customer WHERE amount > 50;
-- RIGHT JOIN
SELECT COUNT(*), COUNT(amount), COUNT(age) FROM orders RIGHT JOIN customers ON id = customer;
-- RIGHT JOIN with a condition on the left side
SELECT COUNT(*), COUNT(amount) FROM orders RIGHT JOIN customers ON id = customer AND quantity > 4;
-- RIGHT JOIN after an inner one with a residual condition
SELECT COUNT(*), SUM(o.quantity) FROM customers c JOIN orders o ON c.id = o.customer AND c.age > o.amount RIGHT JOIN customers d ON d.id = c.id;
-- RIGHT JOIN, and WHERE that looks at what may be missing
SELECT COUNT(*) FROM orders o RIGHT JOIN customers c ON c.id = o.customer WHERE o.quantity IS NULL OR o.quantity > 3;
-- two RIGHT JOINs
SELECT COUNT(*), COUNT(o.amount) FROM orders o RIGHT JOIN customers c ON c.id = o.customer RIGHT JOIN orders p ON p.customer = c.id WHERE p.quantity > 2;
-- SEMI JOIN
SELECT COUNT(*), AVG(age) FROM customers SEMI JOIN orders ON id = customer;
-- ANTI JOIN
SELECT COUNT(*) FROM customers ANTI JOIN orders ON id = customer;
-- SEMI JOIN with a condition on the right
SELECT COUNT(*) FROM customers SEMI JOIN orders ON id = customer AND amount > 90;
-- ANTI JOIN with a condition on the right
SELECT COUNT(*) FROM customers ANTI JOIN orders ON id = customer AND status = 'paid';
-- a self-join
SELECT COUNT(*) FROM customers a JOIN customers b ON a.id = b.id;
-- a self-join with a residual condition: pairs of orders
SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer = b.customer AND a.amount < b.amount;
-- a self-join with a range condition on days
SELECT COUNT(*), SUM(a.quantity * b.quantity) FROM orders a, orders b WHERE a.customer = b.customer AND b.day > a.day AND b.quantity BETWEEN a.quantity - 2 AND a.quantity + 2;
-- a join on the unit and another column
SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer = b.customer AND a.product = b.product;
-- a join on the unit and on expressions
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer AND c."Tier" = o.quantity % 4;
-- a join on the unit and a date
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer AND c.joined = o.day;
-- a join on the unit and text
SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer = b.customer AND a.status = b.status;
-- groups from both sides
SELECT city, status, COUNT(*) AS n, AVG(amount) AS a FROM customers JOIN orders ON id = customer GROUP BY city, status;
-- expressions over both sides
SELECT SUM(age * quantity), AVG(amount / age), COUNT_IF(age > amount) FROM customers JOIN orders ON id = customer;
-- the number of units in a join
SELECT COUNT(DISTINCT id), COUNT(DISTINCT customer), COUNT(*) FROM customers JOIN orders ON id = customer;
-- three private tables in a chain
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer JOIN orders p ON p.customer = c.id WHERE o.amount < p.amount;
-- three private tables, the last joined to the second
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer JOIN orders p ON p.customer = o.customer AND p.quantity = o.quantity;
-- a comma and a JOIN
SELECT COUNT(*) FROM products p, orders o JOIN customers c ON c.id = o.customer WHERE p.product = o.product;
-- HAVING, ORDER BY and LIMIT over a join
SELECT city, COUNT(*) AS n FROM customers JOIN orders ON id = customer GROUP BY city HAVING COUNT(*) > 10 ORDER BY n DESC, city LIMIT 2;

-- == private with public

-- a public table on its key
SELECT kind, COUNT(*) AS n, SUM(amount) AS s FROM orders JOIN products ON orders.product = products.product GROUP BY kind;
-- USING
SELECT kind, COUNT(*) AS n FROM orders JOIN products USING (product) GROUP BY kind;
-- USING, and the shared column by its name alone
SELECT COUNT(product), COUNT(*) FROM orders LEFT JOIN products USING (product) WHERE product > 3;
-- USING several columns
SELECT COUNT(*) FROM orders a JOIN orders b USING (customer, product);
-- the public table first
SELECT COUNT(*) FROM products JOIN orders USING (product);
-- public tables first, by commas
SELECT country, COUNT(*) AS n FROM makers, products, orders WHERE makers.maker = products.maker AND products.product = orders.product GROUP BY country;
-- the same, in another order
SELECT country, COUNT(*) AS n FROM orders, makers, products WHERE products.product = orders.product AND makers.maker = products.maker GROUP BY country;
-- a LEFT JOIN with a public table: a group for what is missing
SELECT kind, COUNT(*) AS n FROM orders LEFT JOIN products USING (product) GROUP BY kind;
-- a public table with several rows for a key
SELECT tag, COUNT(*) AS n, SUM(quantity) AS q FROM orders JOIN tags USING (product) GROUP BY tag;
-- a LEFT JOIN that multiplies rows
SELECT COUNT(*), COUNT(tag) FROM orders LEFT JOIN tags USING (product);
-- ranges that are public
SELECT SUM(quantity * price), AVG(price) FROM orders JOIN products USING (product);
-- a public table without an equation: a range condition alone
SELECT COUNT(*) FROM orders JOIN products ON amount > price;
-- a public table beside every row
SELECT COUNT(*), SUM(quantity) FROM orders, makers;
-- a LEFT JOIN without an equation
SELECT COUNT(*), COUNT(name) FROM orders LEFT JOIN products ON products.price > 90;
-- a LEFT JOIN without an equation and without a match
SELECT COUNT(*), COUNT(name) FROM orders LEFT JOIN products ON products.price > 900;
-- SEMI and ANTI JOIN with a public table
SELECT COUNT(*) FROM orders SEMI JOIN tags ON orders.product = tags.product;
-- ANTI JOIN with a public table keeps NULL
SELECT COUNT(*) FROM orders ANTI JOIN tags ON orders.product = tags.product;
-- four tables
SELECT city, kind, COUNT(*) AS n FROM customers JOIN orders ON id = customer JOIN products USING (product) LEFT JOIN makers USING (maker) WHERE country = 'IT' GROUP BY city, kind;
-- five tables
SELECT country, tag, COUNT(*) AS n, SUM(amount) AS s FROM customers c JOIN orders o ON c.id = o.customer JOIN products p ON p.product = o.product JOIN makers m ON m.maker = p.maker JOIN tags t ON t.product = p.product WHERE c.age > 30 AND p.price < 50 GROUP BY country, tag;
-- a table of both sides of a LEFT JOIN with conditions
SELECT COUNT(*), COUNT(price) FROM orders o LEFT JOIN products p ON o.product = p.product AND p.kind = 'desk' AND p.price < 2;
-- arithmetic in the equation
SELECT COUNT(*) FROM orders JOIN products ON orders.quantity + 1 = products.product * 1;
-- text in the equation
SELECT COUNT(*) FROM orders JOIN tags ON CASE status WHEN 'paid' THEN 'new' ELSE 'old' END = tag;
-- public rows alone
SELECT kind, COUNT(*) AS n, SUM(price) AS p FROM products GROUP BY kind;
-- public tables joined to one another
SELECT country, COUNT(*) AS n, SUM(price) AS p FROM products JOIN makers USING (maker) WHERE price > 0 GROUP BY country;

-- == rows that are units

-- a unique key matches once
SELECT kind, COUNT(*) AS n, SUM(seconds) AS s FROM clicks JOIN products USING (product) GROUP BY kind;
-- a LEFT JOIN on a unique key
SELECT COUNT(*), COUNT(name), SUM(price) FROM clicks LEFT JOIN products ON clicks.product = products.product;
-- two unique keys
SELECT country, COUNT(*) AS n FROM clicks JOIN products USING (product) JOIN makers USING (maker) GROUP BY country;
-- a semi-join needs no unique key
SELECT COUNT(*) FROM clicks WHERE product IN (SELECT product FROM tags);
-- an anti-join of rows
SELECT COUNT(*) FROM clicks WHERE NOT EXISTS (SELECT 1 FROM tags WHERE tags.product = clicks.product);
-- unique after a filter
SELECT COUNT(*) FROM clicks JOIN tags ON clicks.product = tags.product AND tags.tag = 'sale';
-- unique after grouping
SELECT SUM(seconds), SUM(LEAST(tags, 5)) FROM clicks JOIN (SELECT product, COUNT(*) AS tags FROM tags GROUP BY product) USING (product);
-- a subquery over rows
SELECT COUNT(*), SUM(d) FROM (SELECT seconds * 2 AS d, page FROM clicks WHERE page > 1) WHERE page < 5;

-- == IN and EXISTS

-- IN with public rows
SELECT COUNT(*) FROM orders WHERE product IN (SELECT product FROM products WHERE kind = 'desk');
-- NOT IN where nothing can be NULL
SELECT COUNT(*) FROM orders WHERE product IS NOT NULL AND product NOT IN (SELECT product FROM products WHERE price > 5);
-- IN with the unit's own rows
SELECT COUNT(*) FROM customers WHERE id IN (SELECT customer FROM orders WHERE amount > 80);
-- NOT IN with the unit's own rows
SELECT COUNT(*) FROM customers WHERE id IS NOT NULL AND id NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL AND amount > 80);
-- IN several columns
SELECT COUNT(*) FROM orders WHERE (customer, product) IN (SELECT customer, product FROM orders WHERE status = 'void');
-- IN several columns of public rows
SELECT COUNT(*) FROM products WHERE (product, maker) IN (SELECT product, maker FROM products WHERE price > 5);
-- EXISTS, correlated by the unit
SELECT city, COUNT(*) AS n FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.status = 'paid') GROUP BY city;
-- NOT EXISTS, correlated by the unit
SELECT COUNT(*) FROM customers c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.customer = c.id);
-- EXISTS, correlated by a public key, unqualified
SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM tags WHERE tags.product = o.product AND tag = 'eco');
-- EXISTS with two equations
SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM orders p WHERE p.customer = o.customer AND p.quantity = o.quantity + 1);
-- EXISTS over a join inside
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o JOIN products p ON p.product = o.product WHERE o.customer = c.id AND p.kind = 'home');
-- IN over a join inside
SELECT COUNT(*) FROM customers WHERE id IN (SELECT customer FROM orders JOIN tags USING (product) WHERE tag = 'new');
-- IN over GROUP BY and HAVING
SELECT COUNT(*), AVG(age) FROM customers WHERE id IN (SELECT customer FROM orders GROUP BY customer HAVING SUM(amount) > 100);
-- several of them together, with plain conditions
SELECT COUNT(*) FROM orders WHERE quantity > 1 AND product IN (SELECT product FROM tags) AND customer IN (SELECT id FROM customers WHERE vip) AND NOT EXISTS (SELECT 1 FROM makers WHERE makers.maker = orders.product);
-- IN inside IN
SELECT COUNT(*) FROM orders WHERE product IN (SELECT product FROM products WHERE maker IN (SELECT maker FROM makers WHERE country = 'IT'));
-- NOT around IN
SELECT COUNT(*) FROM orders WHERE product IS NOT NULL AND NOT (product IN (SELECT product FROM products));
-- IN over a join outside
SELECT COUNT(*) FROM customers JOIN orders ON id = customer WHERE product IN (SELECT product FROM tags WHERE tag = 'sale');
-- IN a UNION ALL
SELECT COUNT(*) FROM orders WHERE product IN (SELECT product FROM tags UNION ALL SELECT maker FROM makers);

-- == subqueries and common table expressions

-- a derived table
SELECT COUNT(*), SUM(double) FROM (SELECT customer, amount * 2 AS double FROM orders WHERE quantity > 2);
-- derived tables in one another
SELECT SUM(c) FROM (SELECT b + 1 AS c FROM (SELECT a * 2 AS b, day FROM (SELECT quantity AS a, day FROM orders) WHERE a > 1) AS inner_one WHERE day IS NOT NULL) AS outer_one;
-- WITH
WITH paid AS (SELECT * FROM orders WHERE status = 'paid') SELECT COUNT(*), SUM(amount) FROM paid;
-- WITH that builds on WITH
WITH a AS (SELECT customer, quantity + 1 AS q FROM orders), b AS (SELECT customer, q * 2 AS q FROM a WHERE q > 2), c AS (SELECT * FROM b WHERE q < 15) SELECT COUNT(*), SUM(q) FROM c;
-- WITH that is read twice
WITH big AS (SELECT customer, amount FROM orders WHERE amount > 50) SELECT COUNT(*) FROM big a JOIN big b ON a.customer = b.customer;
-- WITH under the name of a table
WITH orders AS (SELECT * FROM orders WHERE amount > 50) SELECT COUNT(*), SUM(amount) FROM orders;
-- WITH and a list of columns
WITH few (who, much) AS (SELECT customer, amount FROM orders) SELECT COUNT(*), SUM(much) FROM few WHERE who > 3;
-- WITH inside a subquery
SELECT COUNT(*) FROM (WITH x AS (SELECT customer FROM orders WHERE quantity > 3) SELECT * FROM x);
-- a subquery joined to a table
SELECT city, COUNT(*) AS n, SUM(total) AS t FROM customers JOIN (SELECT customer, LEAST(SUM(amount), 500) AS total FROM orders GROUP BY customer) AS s ON id = s.customer GROUP BY city;
-- GROUP BY the unit, and every aggregate
SELECT SUM(LEAST(n, 20)), SUM(LEAST(c, 20)), AVG(LEAST(s, 1000)), COUNT_IF(m > 50), SUM(lo), SUM(hi), COUNT_IF(anyone), COUNT_IF(everyone), SUM(LEAST(f, 9)), SUM(LEAST(d, 9)) FROM (SELECT customer, COUNT(*) AS n, COUNT(amount) AS c, SUM(amount) AS s, AVG(amount) AS m, MIN(amount) AS lo, MAX(quantity) AS hi, BOOL_OR(quantity > 8) AS anyone, BOOL_AND(quantity > 1) AS everyone, COUNT_IF(quantity > 3) AS f, COUNT(DISTINCT product) AS d FROM orders GROUP BY customer);
-- GROUP BY the unit with FILTER
SELECT SUM(LEAST(p, 9)), COUNT(s) FROM (SELECT customer, COUNT(*) FILTER (WHERE status = 'paid') AS p, SUM(amount) FILTER (WHERE status = 'void') AS s FROM orders GROUP BY 1);
-- the first and the last day of a unit
SELECT COUNT(*), COUNT_IF(first < last), COUNT_IF(MONTH(last) = 2) FROM (SELECT customer, MIN(day) AS first, MAX(day) AS last FROM orders GROUP BY customer);
-- HAVING in a subquery
SELECT COUNT(*) FROM (SELECT customer FROM orders GROUP BY customer HAVING COUNT(*) > 3 AND SUM(amount) > 100);
-- GROUP BY the unit and more
SELECT status, COUNT(*) AS n, AVG(LEAST(k, 10)) AS k FROM (SELECT customer, status, COUNT(*) AS k FROM orders GROUP BY customer, status) GROUP BY status;
-- a histogram of orders per unit
SELECT k, COUNT(*) AS n FROM (SELECT customer, LEAST(COUNT(*), 8) AS k FROM orders GROUP BY customer) GROUP BY k;
-- GROUP BY a unit that was renamed
SELECT COUNT(*), SUM(LEAST(k, 10)) FROM (SELECT who, COUNT(*) AS k FROM (SELECT customer AS who, amount FROM orders WHERE amount > 10) GROUP BY who);
-- a unit that was renamed twice, joined
SELECT COUNT(*) FROM (SELECT w AS v FROM (SELECT id AS w, age FROM customers) WHERE age > 30) a JOIN orders ON a.v = orders.customer;
-- GROUP BY over GROUP BY
SELECT COUNT(*), SUM(LEAST(m, 5)) FROM (SELECT customer, MAX(k) AS m FROM (SELECT customer, product, COUNT(*) AS k FROM orders GROUP BY customer, product) GROUP BY customer);
-- GROUP BY the unit over a join
SELECT AVG(LEAST(spent, 2000)) FROM (SELECT customer, SUM(quantity * price) AS spent FROM orders JOIN products USING (product) GROUP BY customer);
-- DISTINCT
SELECT COUNT(*) FROM (SELECT DISTINCT customer, product FROM orders);
-- DISTINCT of public rows
SELECT COUNT(*) FROM orders JOIN (SELECT DISTINCT product FROM tags) USING (product);
-- the largest price of all, beside every row
SELECT COUNT(*) FROM orders, (SELECT MAX(price) AS most FROM products) WHERE amount > most;
-- GROUP BY of public rows
SELECT SUM(LEAST(t, 3)) FROM orders JOIN (SELECT product, COUNT(*) AS t FROM tags GROUP BY product) AS x USING (product);
-- ORDER BY in a subquery changes nothing
SELECT COUNT(*) FROM (SELECT customer FROM orders ORDER BY amount);
-- stars
SELECT COUNT(*), SUM(amount) FROM (SELECT * FROM orders WHERE day IS NOT NULL) AS o JOIN (SELECT id, age FROM customers) AS c ON c.id = o.customer;
-- a star of one table
SELECT COUNT(*), SUM(quantity) FROM (SELECT o.* FROM orders o JOIN customers c ON c.id = o.customer WHERE c.vip);
-- a star without some columns
SELECT COUNT(*), SUM(amount) FROM (SELECT * EXCLUDE (day, status) FROM orders);
-- a column of the same name on both sides
SELECT COUNT(a.product), COUNT(b.product), COUNT(*) FROM orders a LEFT JOIN tags b ON a.product = b.product;
-- mixed case
SELECT Count(*), sum(O.Amount) FROM Customers C JOIN ORDERS o ON c.ID = O.CUSTOMER;
-- quoted names
SELECT "c"."Tier", COUNT(*) AS n FROM "customers" AS "c" JOIN "orders" ON "c"."id" = "orders"."customer" GROUP BY "c"."Tier";
-- quoted aliases with odd characters
SELECT SUM("a b"."x.y") FROM (SELECT customer, quantity AS "x.y" FROM orders) AS "a b" JOIN customers AS "a" ON "a".id = "a b".customer;
-- names that the library uses itself
SELECT COUNT(*), SUM(x."__dpframe_unit") FROM (SELECT customer, quantity AS "__dpframe_unit" FROM orders UNION ALL SELECT customer, 1 FROM orders) AS x;

-- == UNION ALL

-- two tables of one unit
SELECT COUNT(*), SUM(v) FROM (SELECT id, age AS v FROM customers UNION ALL SELECT customer, quantity FROM orders);
-- the same table twice
SELECT COUNT(*), SUM(amount) FROM (SELECT customer, amount FROM orders WHERE amount < 20 UNION ALL SELECT customer, amount FROM orders WHERE amount > 10);
-- three sides
SELECT k, COUNT(*) AS n FROM (SELECT id, 1 AS k FROM customers UNION ALL SELECT customer, 2 FROM orders UNION ALL SELECT customer, 3 FROM orders WHERE status = 'paid') GROUP BY k;
-- of joined tables
SELECT COUNT(*), SUM(q) FROM (SELECT c.id, o.quantity AS q FROM customers c JOIN orders o ON c.id = o.customer UNION ALL SELECT customer, 1 FROM orders JOIN tags USING (product));
-- inside WITH
WITH all_days AS (SELECT id AS who, joined AS day FROM customers UNION ALL SELECT customer, day FROM orders) SELECT MONTH(day) AS m, COUNT(*) AS n FROM all_days GROUP BY m;
-- grouped by the unit afterwards
SELECT AVG(LEAST(k, 20)) FROM (SELECT who, COUNT(*) AS k FROM (SELECT id AS who FROM customers UNION ALL SELECT customer FROM orders) GROUP BY who);
-- joined afterwards
SELECT COUNT(*) FROM customers c JOIN (SELECT customer, amount FROM orders UNION ALL SELECT customer, quantity FROM orders) u ON u.customer = c.id;
-- of different types
SELECT SUM(v), COUNT(v) FROM (SELECT customer, amount AS v FROM orders UNION ALL SELECT id, age FROM customers);
-- of text
SELECT t, COUNT(*) AS n FROM (SELECT id, city AS t FROM customers UNION ALL SELECT customer, status FROM orders) GROUP BY t;
-- the number of units on either side
SELECT COUNT(DISTINCT who) FROM (SELECT id AS who FROM customers UNION ALL SELECT customer FROM orders);
-- of public tables
SELECT COUNT(*) FROM orders JOIN (SELECT product FROM products WHERE price > 5 UNION ALL SELECT product FROM tags) USING (product);

-- == computing on an answer

-- a SELECT over a released table
SELECT city, n * 2 AS twice FROM (SELECT city, COUNT(*) AS n FROM customers GROUP BY city) WHERE n > 5 ORDER BY city;
-- the same by WITH
WITH answer AS (SELECT status, COUNT(*) AS n, SUM(amount) AS s FROM orders GROUP BY status) SELECT status, s / n AS mean FROM answer WHERE status IS NOT NULL ORDER BY mean DESC LIMIT 2;
-- a star over an answer
SELECT * FROM (SELECT "Tier", COUNT(*) AS n FROM customers GROUP BY "Tier") ORDER BY n DESC, "Tier";
-- over an answer over an answer
SELECT a + 1 AS b FROM (SELECT n + 1 AS a FROM (SELECT COUNT(*) AS n FROM customers JOIN orders ON id = customer));
-- a total of an answer, which is no sum of units
--= SELECT SUM(n)::BIGINT FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status)
SELECT SUM(n) FROM (SELECT status, COUNT(*) AS n FROM orders GROUP BY status);
-- an average of one row
SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM orders);
-- the number of groups, where each row is a unit
SELECT COUNT(*) FROM (SELECT page, COUNT(*) AS n FROM clicks GROUP BY page);
-- a share of an answer over a join
SELECT "Tier", COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM customers JOIN orders ON id = customer GROUP BY "Tier";
-- an answer about units, aggregated again
SELECT MAX(n) AS most FROM (SELECT s, COUNT(*) AS n FROM (SELECT customer, COUNT(*) > 3 AS s FROM orders GROUP BY customer) GROUP BY s);
