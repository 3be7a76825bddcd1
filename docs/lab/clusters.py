"""Appends to and reads from a store on one MariaDB, on a Galera cluster of three nodes and on Spider with two servers.

    python3 docs/lab/clusters.py target/release/atsdb FOLDER [ROWS]

Needs the Debian packages mariadb-server and mariadb-plugin-spider. All servers run on loopback, each with a data folder
below FOLDER, and wait for the disk at each commit. Writers are processes of their own (`atsdb import`), each with a table
of its own; on the cluster each prefers another node. A rate is rows of all writers over the time until the last has ended.
"""
import os
import random
import shutil
import socket
import subprocess
import sys
import time

atsdb, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
row_count = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
PROVIDER = "/usr/lib/galera/libgalera_smm.so"
PAGES = "payload BIGINT NOT NULL, part BIGINT NOT NULL, bytes MEDIUMBLOB NOT NULL, PRIMARY KEY (payload, part)"
# Servers do not run as root; then the folder must be theirs.
AS_USER = ["--user=mysql"] if os.geteuid() == 0 else []
environment = {**os.environ, "ATSDB_PASSWORD": "secret", "ATSDB_CACHE_BYTES": "0"}
running = []


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    def __init__(self, name, address="127.0.0.1", options=()):
        self.name, self.address, self.options, self.port = name, address, list(options), free_port()
        self.data = os.path.join(folder, name)

    def start(self, *more):
        if not os.path.exists(self.data):
            subprocess.run(["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal",
                            "--skip-test-db", *AS_USER, f"--datadir={self.data}"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        if AS_USER:
            subprocess.run(["chown", "-R", "mysql:mysql", folder], check=True)
        command = ["/usr/sbin/mariadbd", "--no-defaults", *AS_USER, f"--datadir={self.data}",
                   f"--port={self.port}", f"--socket={self.data}.sock", f"--bind-address={self.address}",
                   "--skip-name-resolve", "--innodb-buffer-pool-size=256M", "--innodb-log-file-size=256M",
                   "--max-allowed-packet=64M", *self.options, *more]
        with open(self.data + ".log", "a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        running.append(self.process)
        for _ in range(600):
            if subprocess.run(self.client("SELECT 1"), capture_output=True).returncode == 0:
                return self
            time.sleep(0.1)
        raise SystemExit(f"{self.name} does not start: see {self.data}.log")

    def client(self, sql):
        return ["mariadb", "--no-defaults", "-uroot", "-S", self.data + ".sock", "-NBe", sql]

    def run(self, sql):
        return subprocess.run(self.client(sql), check=True, capture_output=True, text=True).stdout.strip()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def with_database(self):
        self.run("CREATE DATABASE air; CREATE USER air@'%' IDENTIFIED BY 'secret'; GRANT ALL ON air.* TO air@'%'")
        return self


def url(*servers):
    return f"mariadb://air@{','.join(f'{server.address}:{server.port}' for server in servers)}/air"


def galera():
    peers = [free_port() for _ in range(3)]
    nodes = [Server(f"node{position}", options=[
        "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON", f"--wsrep-provider={PROVIDER}",
        "--wsrep-cluster-name=atsdb", "--wsrep-sst-method=rsync",
        "--wsrep-cluster-address=gcomm://" + ",".join(f"127.0.0.1:{peer}" for peer in peers),
        f"--wsrep-node-address=127.0.0.1:{peer}", f"--wsrep-sst-receive-address=127.0.0.1:{free_port()}",
        f"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{peer};"
        f"ist.recv_addr=127.0.0.1:{free_port()};gcache.size=512M"]) for position, peer in enumerate(peers)]
    nodes[0].start("--wsrep-new-cluster").with_database().stop()
    # The others begin with what the first one has.
    for node in nodes[1:]:
        shutil.copytree(nodes[0].data, node.data, ignore=shutil.ignore_patterns("galera.cache", "gvwstate.dat"))
    nodes[0].start("--wsrep-new-cluster")
    [node.start() for node in nodes[1:]]
    return nodes


def spider():
    shards = [Server("shard1").start().with_database(), Server("shard2", "127.0.0.2").start().with_database()]
    head = Server("head", options=["--plugin-load-add=ha_spider.so", "--spider-internal-xa=ON"]).start().with_database()
    program("tables", url(head), check=False)
    program("sql", url(head), "CREATE TABLE first (i INT); DROP TABLE first")
    for position, shard in enumerate(shards):
        head.run(f"CREATE SERVER shard{position} FOREIGN DATA WRAPPER mysql OPTIONS (HOST '{shard.address}', "
                 f"PORT {shard.port}, USER 'air', PASSWORD 'secret', DATABASE 'air')")
    for table in ["atsdb_fresh", "atsdb_sealed"]:
        for shard in shards:
            shard.run(f"CREATE TABLE air.{table} ({PAGES}) ENGINE = InnoDB")
        parts = ", ".join(f"PARTITION p{position} COMMENT = 'wrapper \"mysql\", srv \"shard{position}\"'"
                          for position in range(len(shards)))
        head.run(f"DROP TABLE air.{table}; CREATE TABLE air.{table} ({PAGES}) ENGINE = Spider "
                 f"COMMENT = 'table \"{table}\"' PARTITION BY KEY (payload) ({parts})")
    return head, shards


def program(*arguments, check=True):
    return subprocess.run([atsdb, *arguments], check=check, capture_output=True, text=True, env=environment).stdout


def rows():
    path, chance = os.path.join(folder, "rows.csv"), random.Random(2)
    with open(path, "w") as file:
        file.write("time,sensor,status,c1,c2,c3,c4,c5,c6\n")
        counters = [[0] * 6 for _ in range(1000)]
        for row in range(row_count):
            counter = counters[row % 1000]
            counter[:] = [value + chance.randint(-4, 4) for value in counter]
            time_s = 1_700_000_000 + row // 1000 * 60 + chance.randrange(60)
            status = "bad" if chance.random() < 0.001 else "ok"
            file.write(f"{time_s},sensor{row % 1000:04},{status},{','.join(map(str, counter))}\n")
    return path


def append(urls, first):
    begin = time.time()
    writers = [subprocess.Popen([atsdb, "import", url, f"t{first + position}", path, "--map", "sensor:u16,status:u8"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
               for position, url in enumerate(urls)]
    assert all(writer.wait() == 0 for writer in writers), "a writer failed"
    return len(urls) * row_count / (time.time() - begin) / 1e6


def read(url):
    begin = time.time()
    count = program("sql", url, "SELECT count(*) FROM (SELECT sensor, avg(c1) FROM t0 GROUP BY sensor) AS s",
                    "--format", "csv").split()[-1]
    assert count == "1000", count
    return row_count / (time.time() - begin) / 1e6


def measure(name, urls):
    one, three = append(urls[:1], 0), append([urls[position % len(urls)] for position in range(3)], 1)
    print(f"| {name} | {one:.2f} | {three:.2f} | {read(urls[0]):.2f} |", flush=True)


os.makedirs(folder, exist_ok=True)
os.chmod(folder, 0o755)
if AS_USER:
    shutil.chown(folder, "mysql", "mysql")
try:
    path = rows()
    print("| store | 1 writer, M rows/s | 3 writers, M rows/s | GROUP BY sensor, M rows/s |\n|---|---|---|---|")
    single = Server("single").start().with_database()
    measure("one MariaDB", [url(single)])
    single.stop()
    head, shards = spider()
    measure("Spider, 2 servers for the pages", [url(head)])
    sizes = [shard.run("SELECT sum(length(bytes)) DIV 1000 FROM air.atsdb_fresh") for shard in shards]
    [server.stop() for server in [head, *shards]]
    nodes = galera()
    measure("Galera, 3 nodes", [url(*nodes[position:], *nodes[:position]) for position in range(3)])
    print("kB of pages on each of Spider's servers:", ", ".join(sizes))
finally:
    for process in running:
        process.kill()
        process.wait()
