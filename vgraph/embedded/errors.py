"""Errors and warnings of the embedded engine, numbered as ArangoDB numbers them.

Everything a caller can cause is an `ArangoError`; its number, text and HTTP status are what a server would answer
(ArangoDB documentation, "Error codes and meanings"). What the engine does not do raises number 9.
"""

from typing import Any, Final, NamedTuple


class ErrorKind(NamedTuple):
    """One row of the error table: the symbolic name, the default text and the HTTP status."""

    name: str
    text: str
    status: int


ERRORS: Final[dict[int, ErrorKind]] = {
    num: ErrorKind(name, text, status)
    for num, name, text, status in (
        (1, "FAILED", "failed", 500),
        (2, "SYS_ERROR", "system error", 500),
        (3, "OUT_OF_MEMORY", "out of memory", 500),
        (4, "INTERNAL", "internal error", 500),
        (9, "NOT_IMPLEMENTED", "not implemented", 501),
        (10, "BAD_PARAMETER", "bad parameter", 400),
        (11, "FORBIDDEN", "forbidden", 403),
        (17, "TYPE_ERROR", "type error", 400),
        (18, "LOCK_TIMEOUT", "lock timeout", 409),
        (21, "REQUEST_CANCELED", "canceled request", 410),
        (28, "LOCKED", "locked", 409),
        (29, "DEADLOCK", "deadlock detected", 409),
        (30, "SHUTTING_DOWN", "shutdown in progress", 503),
        (31, "ONLY_ENTERPRISE", "only enterprise version", 501),
        (32, "RESOURCE_LIMIT", "resource limit exceeded", 500),
        (36, "DISABLED", "disabled", 500),
        (37, "MALFORMED_JSON", "malformed json", 400),
        (400, "HTTP_BAD_PARAMETER", "bad parameter", 400),
        (401, "HTTP_UNAUTHORIZED", "unauthorized", 401),
        (403, "HTTP_FORBIDDEN", "forbidden", 403),
        (404, "HTTP_NOT_FOUND", "not found", 404),
        (405, "HTTP_METHOD_NOT_ALLOWED", "method not supported", 405),
        (412, "HTTP_PRECONDITION_FAILED", "precondition failed", 412),
        (501, "HTTP_NOT_IMPLEMENTED", "not implemented", 501),
        (503, "HTTP_SERVICE_UNAVAILABLE", "service unavailable", 503),
        (600, "HTTP_CORRUPTED_JSON", "invalid JSON object", 400),
        (601, "HTTP_SUPERFLUOUS_SUFFICES", "superfluous URL suffices", 400),
        (1004, "ARANGO_READ_ONLY", "read only", 403),
        (1100, "ARANGO_CORRUPTED_DATAFILE", "corrupted datafile", 500),
        (1104, "ARANGO_FILESYSTEM_FULL", "filesystem full", 500),
        (1107, "ARANGO_DATADIR_LOCKED", "database directory is locked", 500),
        (1200, "ARANGO_CONFLICT", "conflict", 409),
        (1202, "ARANGO_DOCUMENT_NOT_FOUND", "document not found", 404),
        (1203, "ARANGO_DATA_SOURCE_NOT_FOUND", "collection or view not found", 404),
        (1204, "ARANGO_COLLECTION_PARAMETER_MISSING", "parameter 'collection' not found", 400),
        (1205, "ARANGO_DOCUMENT_HANDLE_BAD", "illegal document identifier", 400),
        (1207, "ARANGO_DUPLICATE_NAME", "duplicate name", 409),
        (1208, "ARANGO_ILLEGAL_NAME", "illegal name", 400),
        (1209, "ARANGO_NO_INDEX", "no suitable index known", 500),
        (1210, "ARANGO_UNIQUE_CONSTRAINT_VIOLATED", "unique constraint violated", 409),
        (1212, "ARANGO_INDEX_NOT_FOUND", "index not found", 404),
        (1213, "ARANGO_CROSS_COLLECTION_REQUEST", "cross collection request not allowed", 400),
        (1214, "ARANGO_INDEX_HANDLE_BAD", "illegal index identifier", 400),
        (1216, "ARANGO_DOCUMENT_TOO_LARGE", "document too large", 400),
        (1218, "ARANGO_COLLECTION_TYPE_INVALID", "collection type invalid", 400),
        (1220, "ARANGO_ATTRIBUTE_PARSER_FAILED", "parsing attribute name definition failed", 400),
        (1221, "ARANGO_DOCUMENT_KEY_BAD", "illegal document key", 400),
        (1222, "ARANGO_DOCUMENT_KEY_UNEXPECTED", "unexpected document key", 400),
        (1225, "ARANGO_OUT_OF_KEYS", "out of keys", 500),
        (1226, "ARANGO_DOCUMENT_KEY_MISSING", "missing document key", 400),
        (1227, "ARANGO_DOCUMENT_TYPE_INVALID", "invalid document type", 400),
        (1228, "ARANGO_DATABASE_NOT_FOUND", "database not found", 404),
        (1229, "ARANGO_DATABASE_NAME_INVALID", "database name invalid", 400),
        (1230, "ARANGO_USE_SYSTEM_DATABASE", "operation only allowed in system database", 403),
        (1232, "ARANGO_INVALID_KEY_GENERATOR", "invalid key generator", 400),
        (
            1233,
            "ARANGO_INVALID_EDGE_ATTRIBUTE",
            "expecting both `_from` and `_to` attributes to be defined in the edge document and have the format "
            "`<collectionName>/<vertexKey>`",
            400,
        ),
        (1235, "ARANGO_INDEX_CREATION_FAILED", "index creation failed", 400),
        (1237, "ARANGO_COLLECTION_TYPE_MISMATCH", "collection type mismatch", 400),
        (1239, "ARANGO_DOCUMENT_REV_BAD", "illegal document revision", 400),
        (1303, "ARANGO_BUSY", "engine is busy", 409),
        (1305, "ARANGO_IO_ERROR", "storage engine I/O error", 500),
        (1470, "CLUSTER_UNSUPPORTED", "unsupported operation or parameter for clusters", 501),
        (1471, "CLUSTER_ONLY_ON_COORDINATOR", "this operation is only valid on a coordinator in a cluster", 501),
        (1500, "QUERY_KILLED", "query killed", 410),
        (1501, "QUERY_PARSE", "syntax error", 400),
        (1502, "QUERY_EMPTY", "query is empty", 400),
        (1504, "QUERY_NUMBER_OUT_OF_RANGE", "number out of range", 400),
        (1505, "QUERY_INVALID_GEO_VALUE", "invalid geo coordinate value", 500),
        (1510, "QUERY_VARIABLE_NAME_INVALID", "variable name has an invalid format", 400),
        (1511, "QUERY_VARIABLE_REDECLARED", "variable is assigned multiple times", 400),
        (1512, "QUERY_VARIABLE_NAME_UNKNOWN", "unknown variable", 400),
        (1521, "QUERY_COLLECTION_LOCK_FAILED", "unable to read-lock collection", 500),
        (1522, "QUERY_TOO_MANY_COLLECTIONS", "too many collections/shards", 400),
        (1524, "QUERY_TOO_MUCH_NESTING", "too much nesting or too many objects", 500),
        (1539, "QUERY_INVALID_OPTIONS_ATTRIBUTE", "unknown/invalid OPTIONS attribute used", 400),
        (1540, "QUERY_FUNCTION_NAME_UNKNOWN", "usage of unknown function", 400),
        (1541, "QUERY_FUNCTION_ARGUMENT_NUMBER_MISMATCH", "invalid number of arguments for function", 400),
        (1542, "QUERY_FUNCTION_ARGUMENT_TYPE_MISMATCH", "invalid argument type in call to function", 400),
        (1543, "QUERY_INVALID_REGEX", "invalid regex value", 400),
        (1550, "QUERY_BIND_PARAMETERS_INVALID", "invalid structure of bind parameters", 400),
        (1551, "QUERY_BIND_PARAMETER_MISSING", "no value specified for declared bind parameter", 400),
        (1552, "QUERY_BIND_PARAMETER_UNDECLARED", "bind parameter was not declared in the query", 400),
        (1553, "QUERY_BIND_PARAMETER_TYPE", "bind parameter has an invalid value or type", 400),
        (1554, "QUERY_VECTOR_SEARCH_NOT_APPLIED", "failed vector search", 500),
        (1555, "QUERY_VECTOR_INDEX_NOT_READY", "vector index is not ready", 500),
        (1561, "QUERY_INVALID_ARITHMETIC_VALUE", "invalid arithmetic value", 400),
        (1562, "QUERY_DIVISION_BY_ZERO", "division by zero", 400),
        (1563, "QUERY_ARRAY_EXPECTED", "array expected", 400),
        (1568, "QUERY_COLLECTION_USED_IN_EXPRESSION", "collection used as expression operand", 400),
        (1569, "QUERY_FAIL_CALLED", "FAIL() called", 400),
        (1570, "QUERY_GEO_INDEX_MISSING", "no suitable geo index found for geo restriction", 404),
        (1571, "QUERY_FULLTEXT_INDEX_MISSING", "no suitable fulltext index found for fulltext query", 404),
        (1572, "QUERY_INVALID_DATE_VALUE", "invalid date value", 400),
        (1573, "QUERY_MULTI_MODIFY", "multi-modify query", 400),
        (1574, "QUERY_INVALID_AGGREGATE_EXPRESSION", "invalid aggregate expression", 400),
        (1575, "QUERY_COMPILE_TIME_OPTIONS", "query options must be readable at query compile time", 400),
        (1576, "QUERY_DNF_COMPLEXITY", "FILTER/PRUNE condition complexity is too high", 400),
        (1577, "QUERY_FORCED_INDEX_HINT_UNUSABLE", "could not use forced index hint", 400),
        (1578, "QUERY_DISALLOWED_DYNAMIC_CALL", "disallowed dynamic call", 400),
        (1579, "QUERY_ACCESS_AFTER_MODIFICATION", "access after data-modification", 400),
        (1580, "QUERY_FUNCTION_INVALID_NAME", "invalid user function name", 400),
        (1581, "QUERY_FUNCTION_INVALID_CODE", "invalid user function code", 400),
        (1582, "QUERY_FUNCTION_NOT_FOUND", "user function not found", 404),
        (1583, "QUERY_FUNCTION_RUNTIME_ERROR", "user function runtime error", 500),
        (1591, "QUERY_NOT_FOUND", "query ID not found", 404),
        (1593, "QUERY_USER_ASSERT", "assertion failed", 500),
        (1594, "QUERY_USER_WARN", "user warning", 500),
        (1595, "QUERY_WINDOW_AFTER_MODIFICATION", "window operation after data-modification", 400),
        (1600, "CURSOR_NOT_FOUND", "cursor not found", 404),
        (1601, "CURSOR_BUSY", "cursor is busy", 409),
        (1620, "VALIDATION_FAILED", "schema validation failed", 400),
        (1621, "VALIDATION_BAD_PARAMETER", "invalid schema validation parameter", 400),
        (1650, "TRANSACTION_INTERNAL", "internal transaction error", 500),
        (1651, "TRANSACTION_NESTED", "nested transactions detected", 400),
        (1652, "TRANSACTION_UNREGISTERED_COLLECTION", "unregistered collection used in transaction", 400),
        (1653, "TRANSACTION_DISALLOWED_OPERATION", "disallowed operation inside transaction", 400),
        (1654, "TRANSACTION_ABORTED", "transaction aborted", 410),
        (1655, "TRANSACTION_NOT_FOUND", "transaction not found", 404),
        (1700, "USER_INVALID_NAME", "invalid user name", 400),
        (1702, "USER_DUPLICATE", "duplicate user", 409),
        (1703, "USER_NOT_FOUND", "user not found", 404),
        (1850, "TASK_INVALID_ID", "invalid task id", 400),
        (1852, "TASK_NOT_FOUND", "task not found", 404),
        (1901, "GRAPH_INVALID_GRAPH", "invalid graph", 400),
        (1906, "GRAPH_INVALID_EDGE", "invalid edge", 400),
        (1909, "GRAPH_TOO_MANY_ITERATIONS", "too many iterations", 500),
        (1910, "GRAPH_INVALID_FILTER_RESULT", "invalid filter result", 500),
        (1920, "GRAPH_COLLECTION_MULTI_USE", "multi use of edge collection in edge def", 400),
        (1921, "GRAPH_COLLECTION_USE_IN_MULTI_GRAPHS", "edge collection already used in edge def", 400),
        (1922, "GRAPH_CREATE_MISSING_NAME", "missing graph name", 400),
        (1923, "GRAPH_CREATE_MALFORMED_EDGE_DEFINITION", "malformed edge definition", 400),
        (1924, "GRAPH_NOT_FOUND", "graph not found", 404),
        (1925, "GRAPH_DUPLICATE", "graph already exists", 409),
        (1926, "GRAPH_VERTEX_COL_DOES_NOT_EXIST", "vertex collection does not exist or is not part of the graph", 404),
        (1927, "GRAPH_WRONG_COLLECTION_TYPE_VERTEX", "collection not a vertex collection", 400),
        (1928, "GRAPH_NOT_IN_ORPHAN_COLLECTION", "collection is not in list of orphan collections", 400),
        (1929, "GRAPH_COLLECTION_USED_IN_EDGE_DEF", "collection already used in edge def", 400),
        (1930, "GRAPH_EDGE_COLLECTION_NOT_USED", "edge collection not used in graph", 404),
        (1936, "GRAPH_INVALID_PARAMETER", "Invalid parameter type.", 400),
        (1938, "GRAPH_COLLECTION_USED_IN_ORPHANS", "collection used in orphans", 400),
        (1939, "GRAPH_EDGE_COL_DOES_NOT_EXIST", "edge collection does not exist or is not part of the graph", 400),
        (1940, "GRAPH_EMPTY", "empty graph", 500),
        (1942, "GRAPH_MUST_NOT_DROP_COLLECTION", "must not drop collection while part of graph", 403),
        (1943, "GRAPH_CREATE_MALFORMED_ORPHAN_LIST", "malformed orphan list", 400),
        (1944, "GRAPH_EDGE_DEFINITION_IS_DOCUMENT", "edge definition collection is a document collection", 400),
        (1946, "GRAPH_NO_INITIAL_COLLECTION", "no valid initial collection found", 400),
        (
            1947,
            "GRAPH_REFERENCED_VERTEX_COLLECTION_NOT_PART_OF_THE_GRAPH",
            "referenced vertex collection is not part of the graph",
            404,
        ),
        (1948, "GRAPH_NEGATIVE_EDGE_WEIGHT", "negative edge weight found", 400),
        (1949, "GRAPH_COLLECTION_NOT_PART_OF_THE_GRAPH", "the given collection is not part of the graph", 404),
    )
}


class ArangoError(Exception):
    """An error with ArangoDB's number; `status` is the HTTP status, `fields` extra attributes of the answer's body."""

    def __init__(
        self,
        num: int,
        message: str | None = None,
        *,
        status: int | None = None,
        fields: dict[str, Any] | None = None,
    ) -> None:
        kind = ERRORS.get(num)
        self.num = num
        self.message = message if message is not None else (kind.text if kind else f"error {num}")
        self.status = status if status is not None else (kind.status if kind else 500)
        self.fields = fields or {}
        super().__init__(f"[{num}] {self.message}")

    def body(self) -> dict[str, Any]:
        """The JSON a server answers with."""
        return {
            "code": self.status,
            "error": True,
            "errorMessage": self.message,
            "errorNum": self.num,
            **self.fields,
        }


def unsupported(what: str) -> ArangoError:
    """The error for a part of ArangoDB that this engine does not have; raise it, never answer something else."""
    return ArangoError(9, f"{what}: not supported by the embedded engine")


MAX_WARNINGS: Final = 10


class Warnings:
    """Collects a query's warnings (the first ten, as the server does by default), or raises them."""

    def __init__(self, *, fail: bool = False, limit: int = MAX_WARNINGS) -> None:
        self.fail = fail
        self.limit = limit
        self.items: list[tuple[int, str]] = []

    def add(self, num: int, message: str | None = None) -> None:
        """Record a warning; with failOnWarning it is an error of the same number."""
        if self.fail:
            raise ArangoError(num, message)
        if len(self.items) < self.limit:
            self.items.append((num, message if message is not None else ERRORS[num].text))

    def as_json(self) -> list[dict[str, Any]]:
        """The `extra.warnings` of a cursor answer."""
        return [{"code": num, "message": message} for num, message in self.items]
