export const cachedBundle: string
export const inputsFile: string
export function stateOf(path: string, server?: URL): string
export function serverProgram(server?: URL): URL
