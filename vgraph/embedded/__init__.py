"""ArangoDB's HTTP API and AQL in this process, over one SQLite file, behind python-arango's own calls.

    from vgraph.embedded import client
    db = client.open("embedded:/data/site.vgraph").db("_system")

What a request goes through, each part usable alone:

    client      python-arango's HTTPClient, answered here             http        endpoints: a request to an answer
    aql         parser, planner, executor                             graphs      traversals and paths
    search      analyzers, postings, scoring, views                   vectors     vector indexes
    documents   one collection inside a transaction                   indexes     primary, edge, persistent, ttl, mdi
    ddl         databases, collections, indexes                       catalog     what there is, per version
    engine      the file, snapshots, the one writer                   errors      ArangoDB's numbers

Not here: clusters, replication, WAL and backup endpoints, JavaScript (transactions, tasks, functions, Foxx). They answer
501 or 404, never something else. One writer at a time: a transaction that waits longer than its lock timeout for
another gets conflict 1200, which drivers retry.
"""
