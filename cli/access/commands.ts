import type { ComposedCommand } from '../composed/composed-command.ts'
import { capabilityArgument, identityFlag, kindFlag, questionNotes, resourceArgument } from './question.ts'

export const accessCheck: ComposedCommand = {
  resource: 'access',
  verb: 'check',
  args: [capabilityArgument, resourceArgument],
  description: 'Prints whether you, or another identity, may do something at a resource.',
  notes: `${questionNotes} The exit code is 0 for yes and 8 for no.`,
  examples: [
    'stemma access check repo.create acme/platform',
    'stemma access check GroupsService.DeleteGroup acme/platform --identity ci',
    'stemma access check registry.pull acme/platform/app --identity ci -o json',
  ],
  flags: [identityFlag, kindFlag],
  load: async () => (await import('./check.ts')).runCheck,
}

export const accessCommands: ComposedCommand[] = [accessCheck]
