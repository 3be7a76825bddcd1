"""Uses the page of a server with the databases `air` and `machines` in Chromium: databases.py URL

`air` has the table `points`, `machines` the table `heats`.
"""

import sys

sys.dont_write_bytecode = True
from browser import CONTROL, Browser, find

TABLES = "document.querySelector('#panel-tables').innerText"


def run(browser, sql):
    browser.run("document.querySelector('#sql').focus()")
    browser.key("a", CONTROL)
    browser.type(sql)
    browser.key("Escape")
    browser.key("Enter", CONTROL)
    browser.wait("document.querySelector('#cancel').hidden && document.querySelector('#outcome').innerText")


def choose(browser, name):
    browser.run(f"document.querySelector('#database').value = '{name}'; "
                "document.querySelector('#database').dispatchEvent(new Event('change'))")


def main():
    url = sys.argv[1]
    program = find()
    if program is None:
        print("skipped: there is no Chromium")
        return
    browser = Browser(program)
    try:
        browser.open(url)
        browser.wait(f"{TABLES}.includes('points')")
        names = browser.run("[...document.querySelector('#database').options].map((option) => option.value)")
        assert names == ["air", "machines"], names
        assert browser.run("document.querySelector('#database').value") == "air"
        choose(browser, "machines")
        browser.wait(f"{TABLES}.includes('heats') && !{TABLES}.includes('points')")
        run(browser, "SELECT name FROM heats")
        browser.wait("document.querySelector('.grid .row .cell').textContent === 'furnace'")
        address = browser.run("location.href")
        assert "#db=machines&sql=" in address, address
        # The link opens its database, whatever was chosen last.
        choose(browser, "air")
        browser.wait(f"{TABLES}.includes('points')")
        browser.call("Page.navigate", url="about:blank")
        browser.open(address)
        browser.wait("document.querySelector('.grid .row .cell')?.textContent === 'furnace'")
        assert browser.run("document.querySelector('#database').value") == "machines"
        browser.wait(f"{TABLES}.includes('heats')")
        logged = [one for one in browser.logged if "Failed to load resource" not in one]
        assert logged == [], f"the console: {logged}"
    finally:
        browser.close()
    print("done")


main()
