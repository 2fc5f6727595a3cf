-- The 22 queries of TPC-H with customers as the protected unit. Those that return rows of customers,
-- orders or lines are asked in an aggregate form. Joins of two private tables equate their units:
-- a line, its order and its customer belong to the same customer. What becomes of each is in
-- test_tpch.py. A statement ends with a semicolon at the end of a line.

-- Q1 pricing summary report
SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
    SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
    SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
    AVG(l_quantity) AS avg_qty, AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc,
    COUNT(*) AS n
FROM lineitem
WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus;

-- Q2 minimum cost supplier, counted by nation
SELECT n_name, COUNT(*) AS n
FROM part, supplier, partsupp, nation, region,
    (SELECT ps_partkey AS cheap_part, MIN(ps_supplycost) AS cheapest FROM partsupp GROUP BY ps_partkey) AS cheap
WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
    AND n_regionkey = r_regionkey AND r_name = 'EUROPE' AND p_size < 25 AND p_type LIKE '%BRASS'
    AND cheap_part = p_partkey AND ps_supplycost <= cheapest
GROUP BY n_name
ORDER BY n_name;

-- Q3 shipping priority, by month of the order
SELECT date_trunc('month', o_orderdate) AS month, SUM(l_extendedprice * (1 - l_discount)) AS revenue, COUNT(*) AS n
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_custkey = o_custkey
    AND l_orderkey = o_orderkey AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
GROUP BY month
ORDER BY revenue DESC;

-- Q4 order priority checking
SELECT o_orderpriority, COUNT(*) AS n
FROM orders
WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH
    AND EXISTS (
        SELECT * FROM lineitem
        WHERE l_custkey = o_custkey AND l_orderkey = o_orderkey AND l_commitdate < l_receiptdate
    )
GROUP BY o_orderpriority
ORDER BY o_orderpriority;

-- Q5 local supplier volume
SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, COUNT(*) AS n
FROM customer, orders, lineitem, supplier, nation, region
WHERE c_custkey = o_custkey AND l_custkey = o_custkey AND l_orderkey = o_orderkey
    AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey
    AND n_regionkey = r_regionkey AND r_name = 'ASIA'
GROUP BY n_name
ORDER BY n_name;

-- Q6 forecasting revenue change
SELECT SUM(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
    AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;

-- Q7 volume shipping
SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, EXTRACT(year FROM l_shipdate) AS l_year,
    SUM(l_extendedprice * (1 - l_discount)) AS volume, COUNT(*) AS n
FROM supplier, lineitem, orders, customer, nation AS n1, nation AS n2
WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND o_custkey = l_custkey
    AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
    AND n1.n_name IN ('FRANCE', 'GERMANY', 'PERU', 'IRAQ') AND n2.n_name IN ('FRANCE', 'GERMANY')
    AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year;

-- Q8 national market share
SELECT EXTRACT(year FROM o_orderdate) AS o_year,
    SUM(CASE WHEN n2.n_name = 'BRAZIL' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
        / SUM(l_extendedprice * (1 - l_discount)) AS mkt_share, COUNT(*) AS n
FROM part, supplier, lineitem, orders, customer, nation AS n1, nation AS n2, region
WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey
    AND l_custkey = o_custkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey
    AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey
    AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' AND p_type LIKE '%STEEL'
GROUP BY o_year
ORDER BY o_year;

-- Q9 product type profit measure
SELECT n_name, EXTRACT(year FROM o_orderdate) AS o_year,
    SUM(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity) AS profit, COUNT(*) AS n
FROM part, supplier, lineitem, partsupp, orders, nation
WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey
    AND p_partkey = l_partkey AND o_orderkey = l_orderkey AND o_custkey = l_custkey
    AND s_nationkey = n_nationkey AND p_name LIKE '%green%'
GROUP BY n_name, o_year
ORDER BY n_name, o_year DESC;

-- Q10 returned items, by nation of the customer
SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, COUNT(DISTINCT c_custkey) AS customers, COUNT(*) AS n
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_custkey = o_custkey AND l_orderkey = o_orderkey
    AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH
    AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY n_name
ORDER BY n_name;

-- Q11 important stock identification, by nation of the supplier
SELECT n_name, SUM(ps_supplycost * ps_availqty) AS value, COUNT(*) AS n
FROM partsupp, supplier, nation
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey
GROUP BY n_name
HAVING SUM(ps_supplycost * ps_availqty) > 1000
ORDER BY n_name;

-- Q12 shipping modes and order priority
SELECT l_shipmode,
    SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high_line_count,
    SUM(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS low_line_count,
    COUNT(*) AS n
FROM orders, lineitem
WHERE o_orderkey = l_orderkey AND o_custkey = l_custkey AND l_shipmode IN ('MAIL', 'SHIP')
    AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
    AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR
GROUP BY l_shipmode
ORDER BY l_shipmode;

-- Q13 customer distribution
SELECT LEAST(c_count, 30) AS c_count, COUNT(*) AS n
FROM (
    SELECT c_custkey, COUNT(o_orderkey) AS c_count
    FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
    GROUP BY c_custkey
) AS c_orders
GROUP BY 1
ORDER BY 1;

-- Q14 promotion effect
SELECT 100.0 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
    / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue
FROM lineitem, part
WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01'
    AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH;

-- Q15 top supplier
SELECT s_name, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue, COUNT(*) AS n
FROM lineitem JOIN supplier ON l_suppkey = s_suppkey
WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
GROUP BY s_name
ORDER BY total_revenue DESC
LIMIT 1;

-- Q16 parts and supplier relationship
SELECT p_brand, COUNT(DISTINCT ps_suppkey) AS supplier_cnt, COUNT(*) AS n
FROM partsupp, part
WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
    AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
    AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand
ORDER BY p_brand;

-- Q17 small-quantity-order revenue
SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand LIKE 'Brand#2%' AND p_container LIKE 'MED%'
    AND l_quantity < (SELECT 0.8 * AVG(l_quantity) FROM lineitem WHERE l_partkey = p_partkey);

-- Q18 large volume orders, counted
SELECT COUNT(*) AS n
FROM (
    SELECT l_custkey, l_orderkey, SUM(l_quantity) AS quantity
    FROM lineitem
    GROUP BY l_custkey, l_orderkey
) AS totals
WHERE quantity > 100;

-- Q19 discounted revenue
SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem, part
WHERE p_partkey = l_partkey AND l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON'
    AND (
        (p_container IN ('SM CASE', 'SM BOX', 'SM PKG') AND l_quantity BETWEEN 1 AND 31 AND p_size <= 25)
        OR (p_container IN ('MED BAG', 'MED BOX', 'MED PKG') AND l_quantity BETWEEN 10 AND 40 AND p_size <= 40)
        OR (p_container IN ('LG CASE', 'LG BOX', 'LG PKG') AND l_quantity BETWEEN 20 AND 50)
    );

-- Q20 potential part promotion
SELECT COUNT(*) AS n
FROM supplier, nation
WHERE s_nationkey = n_nationkey AND s_suppkey IN (
    SELECT ps_suppkey FROM partsupp
    WHERE ps_availqty > (
        SELECT 0.5 * SUM(l_quantity) FROM lineitem
        WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND l_shipdate < DATE '1997-01-01'
    )
);

-- Q21 suppliers who kept orders waiting
SELECT s_name, COUNT(*) AS n
FROM supplier, lineitem AS l1, orders, nation
WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_custkey = l1.l_custkey
    AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate
    AND EXISTS (
        SELECT * FROM lineitem AS l2
        WHERE l2.l_custkey = l1.l_custkey AND l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey
    )
    AND NOT EXISTS (
        SELECT * FROM lineitem AS l3
        WHERE l3.l_custkey = l1.l_custkey AND l3.l_orderkey = l1.l_orderkey
            AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate
    )
    AND s_nationkey = n_nationkey
GROUP BY s_name
ORDER BY s_name;

-- Q22 global sales opportunity, by nation and with a public threshold
SELECT c_nationkey, COUNT(*) AS n, SUM(c_acctbal) AS totacctbal
FROM customer
WHERE c_acctbal > 4500 AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)
GROUP BY c_nationkey
ORDER BY c_nationkey;
