export const wantedMajor: number
export function startPinned(main: URL, flags?: string[], beforeRestart?: () => void): Promise<void>
export function runPinned(
  args: string[],
  options?: { cwd?: string; env?: NodeJS.ProcessEnv },
): Promise<number>
