/**
 * How much room there is for what dies young, in megabytes for each half. With half of it calls over gRPC cost a fifth
 * more, and with the usual room a server takes 80 MB more. What an import leaves behind has to stay small.
 */
const nurseryOf = (command) => (command === 'import' ? 4 : 8)

export const nodeFlagsOf = (command) => [`--max-semi-space-size=${nurseryOf(command)}`]
