-- Statements over the tables of shop.py that are refused, before anything is spent. The line before
-- each is as in rejected.sql: the error's class, where it points, words of its message, and what it
-- underlines.

--! SQLError 1:57 | LIMIT cannot stand in a subquery | 10
SELECT COUNT(*) FROM (SELECT customer FROM orders LIMIT 10)
;
--! SQLError 1:73 | LIMIT cannot stand in a subquery | 1
SELECT COUNT(*) FROM (SELECT customer FROM orders ORDER BY amount LIMIT 1)
;
--! SQLError 1:58 | OFFSET cannot stand in a subquery | 5
SELECT COUNT(*) FROM (SELECT customer FROM orders OFFSET 5)
;
--! SQLError 1:41 | LIMIT cannot stand in a subquery | 5
WITH few AS (SELECT * FROM orders LIMIT 5) SELECT COUNT(*) FROM few
;
--! SQLError 1:92 | LIMIT cannot stand in a subquery | 1
SELECT COUNT(*) FROM customers WHERE id IN (SELECT customer FROM orders ORDER BY day LIMIT 1)
;
--! SQLError 1:70 | LIMIT cannot stand in a subquery | 3
SELECT COUNT(*) FROM orders JOIN (SELECT product FROM products LIMIT 3) USING (product)
;
--! SQLError 1:38 | window functions of private rows | ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day)
SELECT SUM(r) FROM (SELECT customer, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day) AS r FROM orders)
;
--! SQLError 1:40 | window functions of private rows | SUM(amount) OVER ()
SELECT COUNT(*) FROM (SELECT customer, SUM(amount) OVER () AS s FROM orders)
;
--! SQLError 1:44 | QUALIFY is not answered | QUALIFY
SELECT COUNT(*) FROM (SELECT * FROM orders QUALIFY ROW_NUMBER() OVER (ORDER BY day) = 1)
;
--! SQLError 1:64 | UNION drops rows that are there twice | id FROM customers
SELECT COUNT(*) FROM (SELECT customer FROM orders UNION SELECT id FROM customers)
;
--! SQLError 1:30 | INTERSECT cannot be answered | customer FROM orders INTERSECT SELECT id FROM customers
SELECT COUNT(*) FROM (SELECT customer FROM orders INTERSECT SELECT id FROM customers)
;
--! SQLError 1:30 | EXCEPT cannot be answered | customer FROM orders EXCEPT SELECT id FROM customers
SELECT COUNT(*) FROM (SELECT customer FROM orders EXCEPT SELECT id FROM customers)
;
--! SQLError 1:30 | BY NAME is not understood here | customer FROM orders UNION ALL BY NAME SELECT id AS customer FROM customers
SELECT COUNT(*) FROM (SELECT customer FROM orders UNION ALL BY NAME SELECT id AS customer FROM customers)
;
--! SQLError 1:76 | it has 1 columns, and the other side 2 | id FROM customers
SELECT COUNT(*) FROM (SELECT customer, amount FROM orders UNION ALL SELECT id FROM customers)
;
--! QueryError | the expression does not fit the other side | 
SELECT COUNT(d) FROM (SELECT customer, day AS d FROM orders UNION ALL SELECT id, age FROM customers)
;
--! QueryError 1:37 | the join does not equate the units | orders
SELECT COUNT(*) FROM customers JOIN orders ON age = quantity
;
--! QueryError 1:33 | the join does not equate the units | orders
SELECT COUNT(*) FROM customers, orders
;
--! QueryError 1:43 | the join does not equate the units | orders
SELECT COUNT(*) FROM customers CROSS JOIN orders
;
--! QueryError 1:36 | the join does not equate the units | orders b
SELECT COUNT(*) FROM orders a JOIN orders b ON a.product = b.product
;
--! QueryError 1:37 | the join does not equate the units | orders
SELECT COUNT(*) FROM customers JOIN orders ON id < customer
;
--! QueryError 1:37 | the join does not equate the units | orders
SELECT COUNT(*) FROM customers JOIN orders ON id = customer OR age = quantity
;
--! QueryError 1:37 | the join does not equate the units | orders
SELECT COUNT(*) FROM customers JOIN orders ON id + 0 = customer
;
--! QueryError 1:37 | the join does not equate the units | (SELECT customer % 10 AS customer FROM orders) AS o
SELECT COUNT(*) FROM customers JOIN (SELECT customer % 10 AS customer FROM orders) AS o ON id = customer
;
--! QueryError 1:30 | a subquery groups rows across units | customer % 10
SELECT COUNT(*) FROM (SELECT customer % 10 AS customer FROM orders GROUP BY 1)
;
--! QueryError 1:39 | a subquery groups rows across units | product
SELECT COUNT(*) FROM (SELECT DISTINCT product FROM orders)
;
--! SQLError 1:43 | ON is not understood here | customer
SELECT COUNT(*) FROM (SELECT DISTINCT ON (customer) customer, amount FROM orders)
;
--! QueryError 1:94 | a subquery groups rows across units | product
SELECT COUNT(*) FROM customers LEFT JOIN (SELECT product, COUNT(*) AS n FROM orders GROUP BY product) AS p ON p.product = age
;
--! QueryError 1:36 | tables in which each row is a unit cannot be joined to one another | clicks b
SELECT COUNT(*) FROM clicks a JOIN clicks b ON a.page = b.page
;
--! QueryError 1:34 | tables in which each row is a unit cannot be joined to one another | orders
SELECT COUNT(*) FROM clicks JOIN orders ON clicks.product = orders.product
;
--! QueryError 1:34 | a row may match several rows of the public side | tags
SELECT COUNT(*) FROM clicks JOIN tags USING (product)
;
--! QueryError 1:39 | a row may match several rows of the public side | tags
SELECT COUNT(*) FROM clicks LEFT JOIN tags USING (product)
;
--! QueryError 1:30 | a row may match several rows of the public side | makers
SELECT COUNT(*) FROM clicks, makers
;
--! QueryError 1:64 | the same rows are stacked twice | page FROM clicks
SELECT COUNT(*) FROM (SELECT page FROM clicks UNION ALL SELECT page FROM clicks)
;
--! QueryError 1:67 | the tables have different kinds of units | product FROM orders
SELECT COUNT(*) FROM (SELECT product FROM clicks UNION ALL SELECT product FROM orders)
;
--! QueryError 1:67 | public and private rows cannot be stacked | product FROM tags
SELECT COUNT(*) FROM (SELECT product FROM orders UNION ALL SELECT product FROM tags)
;
--! QueryError 1:35 | tables in which each row is a unit cannot be joined to one another | product IN (SELECT product FROM orders)
SELECT COUNT(*) FROM clicks WHERE product IN (SELECT product FROM orders)
;
--! QueryError 1:41 | a public table is joined to a private one | orders
SELECT COUNT(*) FROM products LEFT JOIN orders ON products.product = orders.product
;
--! QueryError 1:41 | a public table is joined to a private one | orders
SELECT COUNT(*) FROM products SEMI JOIN orders USING (product)
;
--! QueryError 1:37 | a public table is joined to a private one | product IN (SELECT product FROM orders)
SELECT COUNT(*) FROM products WHERE product IN (SELECT product FROM orders)
;
--! QueryError 1:39 | a public table is joined to a private one | NOT EXISTS (SELECT 1 FROM orders o WHERE o.product = p.product)
SELECT COUNT(*) FROM products p WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.product = p.product)
;
--! QueryError 1:40 | a public table is joined to a private one | products
SELECT COUNT(*) FROM orders RIGHT JOIN products ON products.product = orders.product
;
--! SQLError 1:42 | FULL JOIN is not answered | orders
SELECT COUNT(*) FROM customers FULL JOIN orders ON id = customer
;
--! SQLError 1:45 | NATURAL JOIN is not answered | orders
SELECT COUNT(*) FROM customers NATURAL JOIN orders
;
--! SQLError 1:39 | ASOF JOIN is not answered | products
SELECT COUNT(*) FROM orders ASOF JOIN products ON orders.product >= products.product
;
--! SQLError 1:43 | only a registered table can be queried | (SELECT amount FROM orders o WHERE o.customer = c.id) AS l
SELECT COUNT(*) FROM customers c, LATERAL (SELECT amount FROM orders o WHERE o.customer = c.id) AS l
;
--! SQLError 1:48 | POSITIONAL JOIN is not answered | orders
SELECT COUNT(*) FROM customers POSITIONAL JOIN orders
;
--! SQLError 1:40 | RIGHT JOIN with USING is not answered | products
SELECT COUNT(*) FROM orders RIGHT JOIN products USING (product)
;
--! SQLError 1:44 | a subquery cannot stand here | (SELECT AVG(amount) FROM orders)
SELECT COUNT(*) FROM orders WHERE amount > (SELECT AVG(amount) FROM orders)
;
--! SQLError 1:44 | a subquery cannot stand here | (SELECT MAX(price) FROM products)
SELECT COUNT(*) FROM orders WHERE amount > (SELECT MAX(price) FROM products)
;
--! SQLError 1:12 | a subquery cannot stand here | (SELECT MAX(age) FROM customers)
SELECT SUM((SELECT MAX(age) FROM customers)) FROM orders
;
--! SQLError 1:56 | is not an expression that is known | price FROM products
SELECT COUNT(*) FROM orders WHERE amount > ALL (SELECT price FROM products)
;
--! SQLError 1:49 | is not an expression that is known | (SELECT product FROM products)
SELECT COUNT(*) FROM orders WHERE product = ANY (SELECT product FROM products)
;
--! QueryError 1:35 | NOT IN compares with values that may be NULL | product NOT IN (SELECT product FROM tags)
SELECT COUNT(*) FROM orders WHERE product NOT IN (SELECT product FROM tags)
;
--! QueryError 1:38 | NOT IN compares with values that may be NULL | id NOT IN (SELECT customer FROM orders)
SELECT COUNT(*) FROM customers WHERE id NOT IN (SELECT customer FROM orders)
;
--! SQLError 1:54 | the subquery has 2 columns | product, tag FROM tags
SELECT COUNT(*) FROM orders WHERE product IN (SELECT product, tag FROM tags)
;
--! SQLError 1:64 | the subquery has 1 columns | product FROM tags
SELECT COUNT(*) FROM orders WHERE (product, status) IN (SELECT product FROM tags)
;
--! SQLError 1:51 | IN takes a list of constants | product IN (SELECT product FROM tags)
SELECT COUNT(*) FROM orders WHERE quantity > 3 OR product IN (SELECT product FROM tags)
;
--! SQLError 1:31 | IN takes a list of constants | product IN (SELECT product FROM tags)
SELECT COUNT(*) FILTER (WHERE product IN (SELECT product FROM tags)) FROM orders
;
--! SQLError 1:38 | EXISTS does not say how its rows belong to those outside | EXISTS (SELECT 1 FROM orders)
SELECT COUNT(*) FROM customers WHERE EXISTS (SELECT 1 FROM orders)
;
--! SQLError 1:37 | EXISTS does not say how its rows belong to those outside | EXISTS (SELECT 1 FROM tags)
SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM tags)
;
--! SQLError 1:99 | the subquery looks at the rows outside in a way that is not answered | o.amount > c.age
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.amount > c.age)
;
--! QueryError 1:40 | the join does not equate the units | EXISTS (SELECT 1 FROM orders o WHERE o.quantity = c.age)
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.quantity = c.age)
;
--! SQLError 1:44 | a subquery cannot stand here | (SELECT COUNT(*) FROM orders o WHERE o.customer = c.id)
SELECT COUNT(*) FROM customers c WHERE 3 < (SELECT COUNT(*) FROM orders o WHERE o.customer = c.id)
;
--! SQLError 1:57 | the subquery looks at the rows outside in a way that is not answered | SUM(quantity) FROM orders o WHERE o.customer = c.id
SELECT COUNT(*) FROM customers c WHERE c.age IN (SELECT SUM(quantity) FROM orders o WHERE o.customer = c.id)
;
--! SQLError 1:16 | RECURSIVE is not answered | r AS (SELECT customer FROM orders UNION ALL SELECT customer FROM r)
WITH RECURSIVE r AS (SELECT customer FROM orders UNION ALL SELECT customer FROM r) SELECT COUNT(*) FROM r
;
--! SQLError 1:14 | several tables have such a column | product
SELECT COUNT(product) FROM orders JOIN products ON orders.product = products.product
;
--! SQLError 1:78 | several tables have such a column | amount
SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer = b.customer WHERE amount > 3
;
--! QueryError 1:46 | amount cannot be joined on | amount
SELECT COUNT(*) FROM orders JOIN products ON amount = price
;
--! QueryError 1:76 | a.amount cannot be joined on | a.amount
SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer = b.customer AND a.amount = b.amount
;
--! QueryError 1:42 | orders.product does not fit the other side | orders.product
SELECT COUNT(*) FROM orders JOIN tags ON orders.product = tag
;
--! SQLError 1:40 | the subquery has several columns amount | amount
SELECT COUNT(*) FROM (SELECT customer, amount, amount FROM orders)
;
--! SQLError 1:40 | the subquery has several columns x | amount AS x
SELECT COUNT(*) FROM (SELECT customer, amount AS x, quantity AS X FROM orders)
;
--! SQLError | the subquery has several columns customer | 
SELECT COUNT(*) FROM (SELECT * FROM orders a JOIN orders b ON a.customer = b.customer)
;
--! SQLError | Alias already used: o | 
SELECT COUNT(*) FROM orders o JOIN customers o ON o.id = o.customer
;
--! SQLError 1:37 | no such table; did you mean orders? | ordres
SELECT COUNT(*) FROM customers JOIN ordres ON id = customer
;
--! SQLError | Unknown column: custommer | 
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.custommer
;
--! SQLError 1:58 | no such table in this query | x.customer
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = x.customer
;
--! SQLError 1:8 | the query returns rows | *
SELECT * FROM customers JOIN orders ON id = customer
;
--! SQLError 1:8 | it is neither a group key nor inside an aggregate | id
SELECT id, amount FROM customers JOIN orders ON id = customer
;
--! QueryError 1:74 | id names the protected unit | id
SELECT id, COUNT(*) FROM customers JOIN orders ON id = customer GROUP BY id
;
--! QueryError 1:80 | customer names the protected unit | customer
SELECT customer, COUNT(*) FROM customers JOIN orders ON id = customer GROUP BY customer
;
--! QueryError 1:73 | who names the protected unit | who
SELECT who, COUNT(*) FROM (SELECT customer AS who FROM orders) GROUP BY who
;
--! UnboundedError 1:8 | SUM(total) has no bounds | SUM(total)
SELECT SUM(total) FROM (SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer)
;
--! QueryError 1:40 | MEDIAN(amount) is not answered in a subquery | MEDIAN(amount)
SELECT COUNT(*) FROM (SELECT customer, MEDIAN(amount) AS m FROM orders GROUP BY customer) WHERE m > 3
;
--! QueryError 1:40 | MAX(status) compares text | MAX(status)
SELECT COUNT(*) FROM (SELECT customer, MAX(status) AS m FROM orders GROUP BY customer) WHERE m = 'paid'
;
--! QueryError 1:40 | SUM(DISTINCT quantity) is not answered in a subquery | SUM(DISTINCT quantity)
SELECT COUNT(*) FROM (SELECT customer, SUM(DISTINCT quantity) AS m FROM orders GROUP BY customer) WHERE m > 3
;
--! QueryError 1:93 | amount cannot be grouped by in a subquery | amount
SELECT COUNT(*) FROM (SELECT customer, amount, COUNT(*) AS n FROM orders GROUP BY customer, amount)
;
--! SQLError 1:70 | ON has a condition that is not answered in this join | age > 30
SELECT COUNT(*) FROM customers LEFT JOIN orders ON id = customer AND age > 30
;
--! SQLError 1:70 | ON has a condition that is not answered in this join | amount > age
SELECT COUNT(*) FROM customers LEFT JOIN orders ON id = customer AND amount > age
;
--! SQLError 1:70 | ON has a condition that is not answered in this join | amount > age
SELECT COUNT(*) FROM customers ANTI JOIN orders ON id = customer AND amount > age
;
--! SQLError 1:32 | columns cannot be renamed here | o (a, b)
SELECT COUNT(*) FROM orders AS o (a, b)
;
--! SQLError 1:23 | parentheses around tables are not answered | orders JOIN customers ON id = customer
SELECT COUNT(*) FROM (orders JOIN customers ON id = customer)
;
--! SQLError 1:22 | only a registered table can be queried | orders TABLESAMPLE 10
SELECT COUNT(*) FROM orders TABLESAMPLE 10% JOIN customers ON id = customer
;
--! SQLError 1:37 | only a registered table can be queried | read_parquet('x.parquet')
SELECT COUNT(*) FROM customers JOIN read_parquet('x.parquet') ON TRUE
;
--! SQLError 1:31 | only a registered table can be queried | 1), (2)) AS v
SELECT COUNT(*) FROM (VALUES (1), (2)) AS v
;
--! SQLError 1:38 | only a registered table can be queried | 1, 2]) AS u
SELECT COUNT(*) FROM orders, UNNEST([1, 2]) AS u
;
--! SQLError 1:55 | two released tables are not joined | (SELECT COUNT(*) AS n FROM customers) b
SELECT a.n FROM (SELECT COUNT(*) AS n FROM orders) a, (SELECT COUNT(*) AS n FROM customers) b
;
--! SQLError 1:8 | it is neither a group key nor inside an aggregate | n
SELECT n FROM (SELECT COUNT(*) AS n FROM orders UNION ALL SELECT COUNT(*) FROM customers)
;
--! QueryError 1:58 | a subquery groups rows across units | status
SELECT COUNT(*) FROM (SELECT status FROM orders GROUP BY status)
