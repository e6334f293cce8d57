export const wantedMajor: number
export function runPinned(
  args: string[],
  options?: { cwd?: string; env?: NodeJS.ProcessEnv },
): Promise<number>
