export function nodeFlagsOf(command: string | undefined): string[]
