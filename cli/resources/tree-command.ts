import type { ComposedCommand } from '../composed/composed-command.ts'

export const groupsTree: ComposedCommand = {
  resource: 'groups',
  verb: 'tree',
  args: [{ name: 'NAME|UID', isOptional: true, completion: { names: 'groups' } }],
  description: 'Prints all groups that you may see, or one group and those below it, as a tree.',
  examples: ['stemma groups tree', 'stemma groups tree acme/platform --depth 2 -o wide'],
  flags: [
    {
      name: 'depth',
      placeholder: 'NUMBER',
      description: 'Number of levels below the top. Default: all.',
    },
  ],
  load: async () => (await import('./run-tree.ts')).runTree,
}
