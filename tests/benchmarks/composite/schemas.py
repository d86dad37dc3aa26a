"""Generate the tables of seven schemas, and list the composite keys that they declare.

The rows are drawn at random with a seed; the truth is the DDL, whatever the rows happen to show.
Each schema has tables that share columns without any key between them.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from benchmarks.composite.schema import Declared, Random, Schema, draw_rows


def shop(random: Random) -> Schema:
    """Make order lines, and the shipments, returns and invoice lines that refer to them."""
    sizes = random.integers(1, 6, 800)
    order = np.repeat(np.arange(50_000, 50_800), sizes)
    line = np.concatenate([np.arange(1, size + 1) for size in sizes])
    lines = pd.DataFrame(
        {
            "order_no": order,
            "line_no": line,
            "product_id": random.integers(1, 300, len(order)),
            "quantity": random.integers(1, 10, len(order)),
            "unit_price": random.integers(100, 9_999, len(order)) / 100,
        }
    )
    orders = pd.DataFrame(
        {
            "order_no": np.arange(50_000, 50_800),
            "customer_id": random.integers(1, 200, 800),
            "ordered_on": pd.Timestamp("2023-01-01")
            + pd.to_timedelta(random.integers(0, 365, 800), "D"),
        }
    )
    shipped = draw_rows(random, lines, 1_500, "order_no", "line_no")
    shipped.insert(0, "shipment_id", np.arange(1, 1_501))
    shipped["carton"] = random.integers(1, 6, 1_500)
    returned = draw_rows(random, lines, 150, "order_no", "line_no", "quantity")
    returned.columns = pd.Index(["return_order", "return_line", "quantity"])
    returned.insert(0, "rma", [f"RMA{number:05}" for number in range(150)])
    billed = draw_rows(random, lines, 900, "order_no", "line_no", "unit_price")
    billed.insert(0, "invoice_line_id", np.arange(700_000, 700_900))
    # One in two hundred lines was deleted after it was billed.
    billed.loc[::200, "line_no"] = 99
    return Schema(
        {
            "orders": orders,
            "order_lines": lines,
            "shipments": shipped,
            "returns": returned,
            "invoice_lines": billed,
            "stock": _stock(random),
        },
        (
            Declared("shipments", ("order_no", "line_no"), "order_lines", ("order_no", "line_no")),
            Declared(
                "returns", ("return_order", "return_line"), "order_lines", ("order_no", "line_no")
            ),
            Declared(
                "invoice_lines", ("order_no", "line_no"), "order_lines", ("order_no", "line_no")
            ),
        ),
    )


def _stock(random: Random) -> pd.DataFrame:
    """Make a table with the quantity of each product in each of three bins.

    No other table refers to this table.
    """
    stock = pd.DataFrame(
        [(product, bin_) for product in range(1, 300) for bin_ in range(1, 4)],
        columns=["product_id", "bin"],
    )
    stock["quantity"] = random.integers(0, 50, len(stock))
    return stock


def tenants(random: Random) -> Schema:
    """Make tables that many tenants share.

    The rows of each tenant are numbered from 1.
    """
    users = pd.DataFrame(
        [(tenant, user) for tenant in range(1, 31) for user in range(1, 4 + tenant)],
        columns=["tenant_id", "user_no"],
    )
    users["email"] = [f"user{number}@mail.test" for number in range(len(users))]
    projects = pd.DataFrame(
        [(tenant, project) for tenant in range(1, 31) for project in range(1, 3 + tenant % 9)],
        columns=["tenant_id", "project_no"],
    )
    most = projects["tenant_id"] + 3
    projects["owner_no"] = random.integers(1, most + 1)
    tasks = projects.loc[projects.index.repeat(random.integers(1, 9, len(projects)))]
    tasks = tasks[["tenant_id", "project_no"]].reset_index(drop=True)
    tasks["task_no"] = tasks.groupby(["tenant_id", "project_no"]).cumcount() + 1
    tasks["state"] = random.choice(["open", "done", "late"], len(tasks))
    comments = draw_rows(random, tasks, 2_000, "tenant_id", "project_no", "task_no")
    comments["author_no"] = random.integers(1, comments["tenant_id"] + 4)
    comments["words"] = random.integers(1, 400, 2_000)
    tenant_list = pd.DataFrame({"tenant_id": range(1, 31)})
    tenant_list["plan"] = random.choice(["free", "team", "firm"], 30)
    return Schema(
        {
            "tenants": tenant_list,
            "users": users,
            "projects": projects,
            "tasks": tasks,
            "comments": comments,
        },
        (
            Declared("projects", ("tenant_id", "owner_no"), "users", ("tenant_id", "user_no")),
            Declared("tasks", ("tenant_id", "project_no"), "projects", ("tenant_id", "project_no")),
            Declared(
                "comments",
                ("tenant_id", "project_no", "task_no"),
                "tasks",
                ("tenant_id", "project_no", "task_no"),
            ),
            Declared("comments", ("tenant_id", "author_no"), "users", ("tenant_id", "user_no")),
        ),
    )


def budget(random: Random) -> Schema:
    """Make a budget for every period and organisation, and postings to some of the budgets."""
    units = [f"OU-{number:03}" for number in range(1, 41)]
    plan = pd.DataFrame(
        [(period, unit) for period in range(202_201, 202_213) for unit in units],
        columns=["period", "org_unit"],
    )
    plan["planned"] = random.integers(1_000, 90_000, len(plan))
    actual = draw_rows(random, plan, 1_800, "period", "org_unit")
    actual.insert(0, "posting_id", np.arange(1, 1_801))
    actual["amount"] = random.integers(-500, 5_000, 1_800)
    closed = plan.iloc[::7][["period", "org_unit"]].reset_index(drop=True)
    closed["closed_by"] = random.choice(["ana", "bo", "cy"], len(closed))
    headcount = pd.DataFrame({"org_unit": units, "heads": random.integers(3, 60, 40)})
    days = pd.date_range("2022-01-01", "2022-12-31")
    rates = pd.DataFrame(
        [(day, currency) for day in days for currency in ("USD", "GBP", "JPY", "CHF", "SEK")],
        columns=["rate_date", "currency"],
    )
    rates["rate"] = random.random(len(rates))
    payments = draw_rows(random, rates, 700, "rate_date", "currency")
    payments.columns = pd.Index(["paid_on", "currency"])
    payments.insert(0, "payment_id", np.arange(9_000, 9_700))
    return Schema(
        {
            "plan": plan,
            "actuals": actual,
            "closed_periods": closed,
            "headcount": headcount,
            "exchange_rates": rates,
            "payments": payments,
        },
        (
            Declared("actuals", ("period", "org_unit"), "plan", ("period", "org_unit")),
            Declared("closed_periods", ("period", "org_unit"), "plan", ("period", "org_unit")),
            Declared(
                "payments", ("paid_on", "currency"), "exchange_rates", ("rate_date", "currency")
            ),
        ),
    )


def _cost_history(random: Random) -> pd.DataFrame:
    """Make a table of past costs of each product.

    No table refers to it.
    """
    return pd.DataFrame(
        {
            "ProductID": np.repeat(np.arange(707, 997), 3),
            "StartDate": np.tile(pd.to_datetime(["2011-05-31", "2012-05-30", "2013-05-30"]), 290),
            "StandardCost": random.integers(1, 2_000, 870) / 4,
        }
    )


def adventure_works(random: Random) -> Schema:
    """Make invented rows for the composite keys of AdventureWorks and of its data warehouse."""
    offers = pd.DataFrame(
        sorted(
            {(offer, product) for offer in range(1, 17) for product in random.choice(290, 35)}
            | {(1, product) for product in range(290)}
        ),
        columns=["SpecialOfferID", "ProductID"],
    )
    offers["ProductID"] += 707
    detail = draw_rows(random, offers, 4_000, "SpecialOfferID", "ProductID")
    detail.insert(0, "SalesOrderID", np.sort(random.integers(43_659, 44_659, 4_000)))
    detail.insert(1, "SalesOrderDetailID", np.arange(1, 4_001))
    detail["OrderQty"] = random.integers(1, 9, 4_000)
    sizes = random.integers(1, 8, 900)
    sales = pd.DataFrame(
        {
            "ProductKey": random.integers(210, 607, sizes.sum()),
            "CustomerKey": np.repeat(random.integers(11_000, 12_000, 900), sizes),
            "SalesOrderNumber": np.repeat(
                [f"SO{number}" for number in range(43_697, 44_597)], sizes
            ),
            "SalesOrderLineNumber": np.concatenate([np.arange(1, size + 1) for size in sizes]),
        }
    )
    reasons = draw_rows(random, sales, 1_200, "SalesOrderNumber", "SalesOrderLineNumber")
    reasons["SalesReasonKey"] = random.integers(1, 11, 1_200)
    return Schema(
        {
            "SpecialOfferProduct": offers,
            "SalesOrderDetail": detail,
            "FactInternetSales": sales,
            "FactInternetSalesReason": reasons.drop_duplicates(),
            "ProductCostHistory": _cost_history(random),
        },
        (
            Declared(
                "SalesOrderDetail",
                ("SpecialOfferID", "ProductID"),
                "SpecialOfferProduct",
                ("SpecialOfferID", "ProductID"),
            ),
            Declared(
                "FactInternetSalesReason",
                ("SalesOrderNumber", "SalesOrderLineNumber"),
                "FactInternetSales",
                ("SalesOrderNumber", "SalesOrderLineNumber"),
            ),
        ),
    )


def ledger(random: Random) -> Schema:
    """Make accounting documents whose keys all contain the same constant client number."""
    heads = pd.DataFrame(
        [
            ("100", company, document, year)
            for company in ("1000", "2000", "3000")
            for year in (2021, 2022, 2023)
            for document in range(1_800_000_000, 1_800_000_060)
        ],
        columns=["MANDT", "BUKRS", "BELNR", "GJAHR"],
    )
    heads["BLART"] = random.choice(["SA", "KR", "DR"], len(heads))
    heads = heads[random.random(len(heads)) < 0.8].reset_index(drop=True)
    items = heads.loc[heads.index.repeat(random.integers(2, 6, len(heads)))]
    items = items[["MANDT", "BUKRS", "BELNR", "GJAHR"]].reset_index(drop=True)
    items["BUZEI"] = items.groupby(["BUKRS", "BELNR", "GJAHR"]).cumcount() + 1
    items["HKONT"] = random.integers(400_000, 400_090, len(items))
    cleared = draw_rows(random, items, 500, "MANDT", "BUKRS", "BELNR", "GJAHR", "BUZEI")
    cleared["AUGDT"] = random.integers(20_210_101, 20_211_231, 500)
    accounts = pd.DataFrame(
        [(company, account) for company in ("1000", "2000", "3000") for account in range(90)],
        columns=["BUKRS", "SAKNR"],
    )
    accounts["SAKNR"] += 400_000
    keys = ("MANDT", "BUKRS", "BELNR", "GJAHR")
    return Schema(
        {"BKPF": heads, "BSEG": items, "BSAD": cleared, "SKB1": accounts},
        (
            Declared("BSEG", keys, "BKPF", keys),
            Declared("BSAD", (*keys, "BUZEI"), "BSEG", (*keys, "BUZEI")),
            Declared("BSEG", ("BUKRS", "HKONT"), "SKB1", ("BUKRS", "SAKNR")),
        ),
    )


def travel(random: Random) -> Schema:
    """Make flights whose key has three columns: carrier, number and day.

    Bookings and delays name these columns differently.
    """
    carriers = ["AA", "BA", "DL", "LH", "KL", "UA", "IB", "SK"]
    days = pd.date_range("2024-03-01", "2024-04-30")
    schedule = [
        (carrier, number) for carrier in carriers for number in random.choice(900, 12) + 100
    ]
    flights = pd.DataFrame(
        [
            (carrier, number, day.date())
            for carrier, number in sorted(set(schedule))
            for day in days[random.random(len(days)) < 0.7]
        ],
        columns=["carrier", "flight_number", "departure_date"],
    )
    flights["seats"] = random.choice([120, 150, 180, 220], len(flights))
    booked = draw_rows(random, flights, 3_000, "carrier", "flight_number", "departure_date")
    booked.columns = pd.Index(["airline", "flight", "travel_date"])
    booked["airline"] = booked["airline"].str.lower()
    booked.insert(0, "booking", [f"B{number:06}" for number in range(3_000)])
    late = draw_rows(random, flights, 400, "carrier", "flight_number", "departure_date")
    late["minutes"] = random.integers(5, 300, 400)
    fleet = pd.DataFrame({"carrier": carriers, "planes": random.integers(20, 400, 8)})
    keys = ("carrier", "flight_number", "departure_date")
    return Schema(
        {"flights": flights, "bookings": booked, "delays": late, "fleet": fleet},
        (
            Declared("bookings", ("airline", "flight", "travel_date"), "flights", keys),
            Declared("delays", keys, "flights", keys),
        ),
    )


def school(random: Random) -> Schema:
    """Make course sections, and unrelated lists that have some of the same columns."""
    sections = pd.DataFrame(
        [
            (f"{subject}{level}", term, section)
            for subject in ("MAT", "BIO", "ART", "HIS", "GEO")
            for level in (101, 102, 201, 301)
            for term in ("2022S", "2022F", "2023S", "2023F")
            for section in range(1, 1 + random.integers(1, 5))
        ],
        columns=["course", "term", "section"],
    )
    sections["room"] = random.integers(1, 40, len(sections))
    enrolled = draw_rows(random, sections, 2_500, "course", "term", "section")
    enrolled.insert(0, "student_id", random.integers(1, 500, 2_500))
    enrolled["grade"] = random.choice(list("ABCDF"), 2_500)
    surveys = pd.DataFrame(
        {
            "term": random.choice(["2022S", "2022F", "2023S", "2023F"], 300),
            "room": random.integers(1, 40, 300),
            "score": random.integers(1, 6, 300),
        }
    )
    keys = ("course", "term", "section")
    return Schema(
        {"sections": sections, "enrolments": enrolled, "surveys": surveys},
        (Declared("enrolments", keys, "sections", keys),),
    )


SCHEMAS: Mapping[str, Callable[[Random], Schema]] = {
    "shop": shop,
    "tenants": tenants,
    "budget": budget,
    "adventure_works": adventure_works,
    "ledger": ledger,
    "travel": travel,
    "school": school,
}
"""The function that makes each schema, by the schema's name."""
