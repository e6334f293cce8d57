/** Something the user can mend: told in a line. Exit code 2. */
export class UsageError extends Error {}

/** There is no token, or none that still works. Exit code 3. */
export class NotSignedIn extends Error {}

/** The server said no. Exit code 1. */
export class Refused extends Error {}
