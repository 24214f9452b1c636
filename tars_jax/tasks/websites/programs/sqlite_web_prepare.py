"""Makes the database of a shop (content on stdin)."""

import json
import sqlite3
import sys

content = json.load(sys.stdin)
with sqlite3.connect("shop.db") as shop:
    shop.executescript(
        """
        CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL, stock INTEGER NOT NULL);
        CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, company TEXT);
        CREATE TABLE "order" (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id),
          product_id INTEGER REFERENCES product (id), quantity INTEGER NOT NULL, status TEXT NOT NULL);
        """
    )
    shop.executemany("INSERT INTO product VALUES (?, ?, ?, ?)", content["products"])
    shop.executemany("INSERT INTO customer VALUES (?, ?, ?, ?)", content["customers"])
    shop.executemany('INSERT INTO "order" VALUES (?, ?, ?, ?, ?)', content["orders"])
