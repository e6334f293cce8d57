import type { ComposedCommand } from '../composed/composed-command.ts'

export const whoami: ComposedCommand = {
  resource: 'whoami',
  verb: '',
  args: [],
  description:
    'Prints your identity on the server, your organizations, how you signed in, the limits of your token, and your roles with the groups in which you have them.',
  notes: 'A role in a group also counts in all groups below it. -o wide also prints the uids of groups.',
  examples: ['stemma whoami', 'stemma whoami -o json', 'stemma whoami -o uid'],
  flags: [],
  load: async () => (await import('./whoami.ts')).runWhoami,
}
