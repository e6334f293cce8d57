import type { ComposedCommand, ComposedFlag } from '../composed/composed-command.ts'
import { runAs } from '../composed/run-as.ts'
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

export const accessExplain: ComposedCommand = {
  resource: 'access',
  verb: 'explain',
  args: [capabilityArgument, resourceArgument],
  description:
    'Prints why you, or another identity, may do something at a resource, or why not: the roles on the way from the organization to the resource, what is missing, and who could grant it.',
  notes: `${questionNotes} -o json prints the explanation as data.`,
  examples: [
    'stemma access explain repo.create acme/platform',
    'stemma access explain GroupsService.DeleteGroup acme/platform --identity ci',
  ],
  flags: [identityFlag, kindFlag],
  load: async () => (await import('./explain.ts')).runExplain,
}

const pageFlags: ComposedFlag[] = [
  { name: 'all', description: 'List all pages. Each page is printed when it arrives.' },
  { name: 'page-size', placeholder: 'NUMBER', description: 'Maximum number of rows. Default: 50.' },
  { name: 'page-token', placeholder: 'TEXT', description: 'Token of the page to list.' },
]

export const accessWhoCan: ComposedCommand = {
  resource: 'access',
  verb: 'who-can',
  args: [capabilityArgument, resourceArgument],
  description:
    'Lists everyone who may do something at a resource, with the role and the group that give them access.',
  notes: `${questionNotes} Here METHOD must need exactly one capability. stemma access list RESOURCE lists everyone who has any access.`,
  examples: [
    'stemma access who-can repo.delete acme/platform',
    'stemma access who-can GroupsService.DeleteGroup acme/platform --all -o wide',
  ],
  flags: [kindFlag, ...pageFlags],
  load: async () => (await import('./who-can.ts')).runWhoCan,
}

export const accessReach: ComposedCommand = {
  resource: 'access',
  verb: 'reach',
  args: [{ name: 'IDENTITY', isOptional: true, completion: { names: 'identities' } }],
  description: 'Lists where you, or another identity, have roles.',
  notes:
    'The roles of another identity are listed only in groups where you may list role bindings and identities.',
  examples: ['stemma access reach', 'stemma access reach ci --capability repo.create --group acme/platform'],
  flags: [
    {
      name: 'capability',
      placeholder: 'CAPABILITY',
      description: 'Only roles with this capability.',
      ...(capabilityArgument.completion && { completion: capabilityArgument.completion }),
    },
    {
      name: 'group',
      placeholder: 'GROUP',
      description: 'Only roles in this group and below it.',
      completion: { names: 'groups' },
    },
    ...pageFlags,
  ],
  replaces: 'list-reach',
  load: async () => runAs('access', 'list-reach', 'identity'),
}

export const accessCommands: ComposedCommand[] = [accessCheck, accessExplain, accessWhoCan, accessReach]
