export const cachedBundle: string
export const statesFile: string
export function stateOf(path: string, server?: string): string
export function serverProgram(server?: string): string
