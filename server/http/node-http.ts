// Loads node:http without an import. An import reads every export of the module, and reading its export WebSocket loads
// the HTTP client undici, which this server does not use. That took 20 ms of every start.
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
