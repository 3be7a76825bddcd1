# ClickHouse within this process, behind a pipe. A line of input is a statement, as a string of JSON. Its answer is a
# line for the names of its columns, one for their types and one for each row, all arrays; then an object, which is
# empty or says what went wrong.
import json
import os
import sys

answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

from chdb.session import Session

session = Session(sys.argv[1])
for statement in sys.stdin.buffer:
    end = {}
    try:
        answer = session.query(json.loads(statement), "JSONCompactEachRowWithNamesAndTypes").bytes()
        answers.write(answer)
    except Exception as error:
        end = {"error": str(error)}
    answers.write(json.dumps(end).encode() + b"\n")
    answers.flush()
session.close()
