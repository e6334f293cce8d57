/** A word that completes the command line. Some shells show its description. */
export type Candidate = { word: string; description?: string }
