-- Processes that share the database, by process number. The number is part of every ID, so that only one process may use it.
-- beat increases while the process with this owner runs; holder describes it to operators. machine and pid tell a process of the
-- same machine whether it still runs.
CREATE TABLE process_leases (
    worker INTEGER NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    beat BIGINT NOT NULL,
    holder TEXT NOT NULL,
    machine TEXT NOT NULL,
    pid BIGINT NOT NULL
);
