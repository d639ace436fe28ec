"""Names by which columns are known, the best first, in lower case."""

from __future__ import annotations

USER = ("user", "user_id", "userid", "uid", "customer", "customer_id", "visitor_id", "visitorid", "reviewerid")
ITEM = (
    "item",
    "item_id",
    "itemid",
    "iid",
    "product",
    "product_id",
    "article_id",
    "parent_asin",
    "asin",
    "movieid",
    "sku",
)
TIME = ("time", "timestamp", "ts", "datetime", "date", "event_time", "created_at", "unixreviewtime")
TEXT = ("text", "title", "description", "name", "item_name", "product_name")
