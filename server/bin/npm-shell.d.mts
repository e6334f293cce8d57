export function onNpmShellEnd(env: NodeJS.ProcessEnv, listener: () => void): void
