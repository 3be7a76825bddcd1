# The driver in R's driver manager: what the page shows, values that go in and come out, transactions and errors. ATSDB_ADBC names
# the driver, and the working directory is that of the repository.

suppressPackageStartupMessages(library(adbcdrivermanager))

library_path <- normalizePath(Sys.getenv("ATSDB_ADBC", unset = NA), mustWork = TRUE)
page <- readLines("docs/adbc.md")
tests <- 0

test <- function(name, code) {
  folder <- tempfile("test")
  dir.create(folder)
  before <- setwd(folder)
  tryCatch(force(code), error = function(failure) {
    message("the test \"", name, "\" failed: ", conditionMessage(failure))
    quit(status = 1)
  })
  setwd(before)
  tests <<- tests + 1
}

same <- function(found, wanted) {
  difference <- all.equal(found, wanted, tolerance = 0)
  if (!isTRUE(difference)) stop(paste(c(difference, utils::capture.output(utils::str(found))), collapse = "\n"))
}

open_store <- function(...) {
  driver <- adbc_driver(library_path, "AdbcDriverAtsdbInit")
  adbc_connection_init(adbc_database_init(driver, uri = "air.db", ...))
}

ask <- function(connection, query, bind = NULL) {
  as.data.frame(read_adbc(connection, query, bind = bind))
}

# The condition that an expression raises, whose `error` has what ADBC says.
failure_of <- function(code) {
  tryCatch({
    force(code)
    stop("nothing failed")
  }, adbc_status = function(failure) failure)
}

sqlstate_of <- function(failure) rawToChar(failure$error$sqlstate)

test("the page shows what happens", {
  begin <- which(page == "```r")
  stopifnot(length(begin) == 1)
  end <- begin + which(page[-seq_len(begin)] == "```")[1]
  dir.create("target/release", recursive = TRUE)
  file.symlink(library_path, "target/release/libadbc_driver_atsdb.so")
  same(eval(parse(text = page[(begin + 1):(end - 1)]), new.env()), data.frame(sensor = "kitchen", pm10 = 14.5))
})

test("values come back as they were", {
  connection <- open_store()
  rows <- data.frame(
    yes = c(TRUE, FALSE, NA), int = c(-.Machine$integer.max, 0L, NA), double = c(1 / 3, -Inf, NA),
    text = c("Gr\u00f6\u00dfe \u6e2c\u5b9a", "", NA), day = as.Date(c("1815-12-10", "2024-02-29", NA)),
    time = as.POSIXct(c("2024-03-01 12:00:00", "1969-12-31 23:59:59", NA), tz = "UTC")
  )
  write_adbc(rows, connection, "rows")
  same(ask(connection, "SELECT * FROM rows"), rows)
  types <- ask(connection, "SELECT data_type FROM information_schema.columns WHERE table_name = 'rows' ORDER BY ordinal_position")
  same(types[[1]], c("BOOLEAN", "INT", "DOUBLE", "TEXT", "DATE", "TIMESTAMP"))
})

test("factors become mapped columns, and these become factors or text", {
  connection <- open_store()
  rows <- data.frame(sensor = factor(c("kitchen", "garden", "kitchen")), pm10 = c(14.5, 3.25, 7))
  write_adbc(rows, connection, "readings")
  declared <- ask(connection, "SHOW CREATE TABLE readings")
  if (!any(grepl("map = 'sensor:u32'", unlist(declared)))) stop(paste(unlist(declared), collapse = " "))
  same(as.character(ask(connection, "SELECT sensor FROM readings ORDER BY pm10")$sensor), c("garden", "kitchen", "kitchen"))
  same(ask(open_store(atsdb.dictionaries = "false"), "SELECT sensor FROM readings ORDER BY pm10")$sensor,
    c("garden", "kitchen", "kitchen"))
})

test("tables are created, appended to and replaced", {
  connection <- open_store()
  write_adbc(data.frame(a = 1L), connection, "t")
  write_adbc(data.frame(a = 2:3), connection, "t", mode = "append")
  same(ask(connection, "SELECT sum(a) AS sum, count(*) AS count FROM t"), data.frame(sum = 6, count = 3))
  same(sqlstate_of(failure_of(write_adbc(data.frame(a = 1L), connection, "t"))), "42P07")
  write_adbc(data.frame(a = 7L), connection, "t", mode = "replace")
  same(ask(connection, "SELECT a FROM t"), data.frame(a = 7L))
})

test("parameters are bound as a data frame", {
  connection <- open_store()
  execute_adbc(connection, "CREATE TABLE t (a INT, b TEXT)")
  execute_adbc(connection, "INSERT INTO t VALUES (?, ?)", bind = data.frame(a = 1:3, b = c("x", NA, "z")))
  same(ask(connection, "SELECT b FROM t WHERE a > ? ORDER BY a", bind = data.frame(1L))$b, c(NA, "z"))
  same(ask(connection, "SELECT b FROM t WHERE a = $1", bind = data.frame(c(3L, 1L)))$b, c("z", "x"))
})

test("a transaction is committed or rolled back", {
  connection <- open_store()
  execute_adbc(connection, "CREATE TABLE t (a INT)")
  count <- function() ask(open_store(), "SELECT CAST(count(*) AS INT) AS n FROM t")$n
  adbc_connection_set_options(connection, c("adbc.connection.autocommit" = "false"))
  execute_adbc(connection, "INSERT INTO t VALUES (1), (2)")
  same(count(), 0L)
  adbc_connection_rollback(connection)
  execute_adbc(connection, "INSERT INTO t VALUES (3)")
  adbc_connection_commit(connection)
  same(count(), 1L)
})

test("errors have a status, a state and a hint", {
  connection <- open_store()
  execute_adbc(connection, "CREATE TABLE t (sensor TEXT)")
  failure <- failure_of(read_adbc(connection, "SELECT sensr FROM t"))
  stopifnot(inherits(failure, "adbc_status_invalid_argument"), grepl("sensr", conditionMessage(failure)))
  same(sqlstate_of(failure), "42703")
  same(rawToChar(failure$error$details[["atsdb.hint"]]), "did you mean sensor?")
  same(sqlstate_of(failure_of(adbc_connection_get_table_schema(connection, NULL, NULL, "nothing"))), "42P01")
})

test("a long result is read piece by piece", {
  connection <- open_store()
  stream <- read_adbc(connection, "SELECT value FROM generate_series(1, 1000000)")
  rows <- 0
  while (!is.null(batch <- stream$get_next())) rows <- rows + batch$length
  same(rows, 1e6)
})

cat(tests, "tests of the ADBC driver in R passed\n")
