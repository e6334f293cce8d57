export function nodeFlagsOf(command: string | undefined): string[]
export const allocatorEnvironment: Record<string, string>
