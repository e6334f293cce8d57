import type { ComposedCommand } from '../composed/composed-command.ts'
import { filterFlags, groupArgument, sinceFlag, untilFlag } from './filters.ts'

const scopeNotes =
  'GROUP limits the entries to a group and everything below it. Without it, all entries that you may see are printed.'

const auditList: ComposedCommand = {
  resource: 'audit',
  verb: 'list',
  args: [groupArgument],
  description: 'Prints entries of the audit log, the newest first, with the fields that changed.',
  notes: `${scopeNotes} In front of a field, + means set, - removed and ~ changed. -o wide also prints the method, the uids, the address of the client and the request id.`,
  examples: [
    'stemma audit list acme',
    'stemma audit list acme --actor ci --since 24h --all',
    'stemma audit list --action deleted --kind role_bindings -o wide',
    'stemma audit list --outcome failure --since 7d -o json',
  ],
  flags: [
    ...filterFlags,
    sinceFlag,
    untilFlag,
    { name: 'count', placeholder: 'NUMBER', description: 'Number of entries to print. Default: 50.' },
    { name: 'all', description: 'Print all entries.' },
    { name: 'oldest', description: 'Begin with the oldest entry.' },
  ],
  load: async () => (await import('./list.ts')).runList,
}

const auditTail: ComposedCommand = {
  resource: 'audit',
  verb: 'tail',
  args: [groupArgument],
  description: 'Prints new entries of the audit log as they appear.',
  notes: `${scopeNotes} -o json prints one entry per line. Ctrl-C ends it.`,
  examples: ['stemma audit tail acme', 'stemma audit tail acme/platform --since 1h --outcome failure'],
  flags: [...filterFlags, sinceFlag],
  load: async () => (await import('./tail.ts')).runTail,
}

const auditExport: ComposedCommand = {
  resource: 'audit',
  verb: 'export',
  args: [groupArgument],
  description: 'Prints all entries of the audit log as JSON, one per line, the oldest first.',
  notes: scopeNotes,
  examples: [
    'stemma audit export acme > audit.jsonl',
    'stemma audit export acme --since 30d --format ecs > siem.jsonl',
  ],
  flags: [
    ...filterFlags,
    sinceFlag,
    untilFlag,
    {
      name: 'format',
      placeholder: 'WORD',
      description: 'Format of the entries: json (default) or ecs (Elastic Common Schema).',
      completion: { words: () => ['json', 'ecs'] },
    },
  ],
  load: async () => (await import('./export.ts')).runExport,
}

export const auditCommands: ComposedCommand[] = [auditList, auditTail, auditExport]
