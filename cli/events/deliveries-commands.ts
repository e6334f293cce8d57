// Deliveries belong to a subscription, so `stemma subscriptions` also has commands for them.
import type { ComposedCommand } from '../composed/composed-command.ts'
import { runAs } from '../composed/run-as.ts'

const subscriptionDeliveries: ComposedCommand = {
  resource: 'subscriptions',
  verb: 'deliveries',
  args: [{ name: 'SUBSCRIPTION', completion: { names: 'subscriptions' } }],
  description: 'Lists the deliveries of a subscription, the newest first, with the last answer of the sink.',
  notes:
    '-o wide also prints the beginning of the answer. stemma deliveries get DELIVERY prints every attempt.',
  examples: [
    'stemma subscriptions deliveries UID',
    'stemma subscriptions deliveries UID --state failed --all -o wide',
  ],
  flags: [
    {
      name: 'state',
      placeholder: 'WORD',
      description: 'Only deliveries in this state: pending, delivered or failed.',
      completion: { words: () => ['pending', 'delivered', 'failed'] },
    },
    { name: 'all', description: 'List all pages. Each page is printed when it arrives.' },
    { name: 'page-size', placeholder: 'NUMBER', description: 'Maximum number of deliveries in a page.' },
    { name: 'page-token', placeholder: 'TEXT', description: 'Token of the page to list.' },
    {
      name: 'order-by',
      placeholder: 'TEXT',
      description: 'create_time for the oldest first, or "create_time desc", which is the default.',
    },
    { name: 'skip', placeholder: 'NUMBER', description: 'Number of deliveries to skip.' },
  ],
  load: async () => runAs('deliveries', 'list', 'subscription'),
}

const subscriptionRedeliver: ComposedCommand = {
  resource: 'subscriptions',
  verb: 'redeliver',
  args: [{ name: 'DELIVERY' }],
  description: 'Sends the event of a delivery again.',
  examples: ['stemma subscriptions redeliver UID'],
  flags: [],
  load: async () => runAs('deliveries', 'redeliver-event'),
}

export const deliveryCommands: ComposedCommand[] = [subscriptionDeliveries, subscriptionRedeliver]
