/** Wrong settings. Its message has a line for each of them. */
export class ConfigError extends Error {
  constructor(faults: string[]) {
    super(`Stemma cannot start with these settings:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
    this.name = 'ConfigError'
  }
}
