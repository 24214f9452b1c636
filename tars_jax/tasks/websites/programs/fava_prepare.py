"""Writes a Beancount ledger (content on stdin)."""

import json
import sys

content = json.load(sys.stdin)
accounts = sorted(
    {account for entry in content["entries"] for account, _ in entry["postings"]}
    | {
        "Assets:Bank",
        "Assets:Cash",
        "Expenses:Food",
        "Expenses:Rent",
        "Expenses:Travel",
        "Expenses:Books",
        "Expenses:Health",
        "Expenses:Gifts",
        "Income:Salary",
        "Equity:Opening-Balances",
    }
)
lines = [f'option "title" "{content["title"]}"', 'option "operating_currency" "EUR"', ""]
lines += [f"2025-01-01 open {account} EUR" for account in accounts]
for entry in content["entries"]:
    lines += ["", f'{entry["date"]} * "{entry["payee"]}" "{entry["narration"]}"']
    lines += [f"  {account}  {amount} EUR" for account, amount in entry["postings"]]
with open("ledger.beancount", "w") as file:
    file.write("\n".join(lines) + "\n")
