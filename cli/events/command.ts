import type { ComposedCommand } from '../composed/composed-command.ts'

export const eventsTail: ComposedCommand = {
  resource: 'events',
  verb: 'tail',
  args: [{ name: 'GROUP', completion: { names: 'groups' } }],
  description: 'Prints the events of a group, and of everything below it, as they happen.',
  notes:
    'Each line has the time, the type and the subject of an event, and the identity that caused it. -o wide also prints the data. -o json prints each event as a CloudEvent on a line of its own. If the connection breaks, the command continues after the last event. Ctrl-C ends it.',
  examples: [
    'stemma events tail acme',
    'stemma events tail acme/platform --type dev.stemma.registry. -o wide',
    'stemma events tail acme --after 0 --once -o json > events.jsonl',
  ],
  flags: [
    {
      name: 'after',
      placeholder: 'SEQUENCE',
      description:
        'Begin after the event with this sequence number; 0 for all events that are kept. Default: only new events.',
    },
    {
      name: 'type',
      placeholder: 'TEXT',
      description: 'Only events whose type begins with this text.',
      isRepeated: true,
    },
    { name: 'once', description: 'End after the last existing event. Without --after, no event is printed.' },
  ],
  load: async () => (await import('./tail.ts')).runTail,
}
