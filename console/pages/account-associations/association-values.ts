// The accounts of an account association as the text of a form, and back.
import type { AccountAssociationJson } from '@stemma/api/json/platform/iam/v2beta1/account_association'

type Pairs = Record<string, string>

/** Names and values, one pair on each line, such as `agentless=ID`. */
export const linesOf = (pairs: Pairs = {}) =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')

export const pairsOf = (text: string): Pairs =>
  Object.fromEntries(
    filledLines(text).map((line) => {
      const [name = '', ...value] = line.split('=')
      return [name.trim(), value.join('=').trim()]
    }),
  )

type GitHub = NonNullable<AccountAssociationJson['github']>

/** Installations of GitHub apps, one on each line: the id of the app, the id of the installation, and a name. */
export const installationLines = ({ appInstallations = {} }: GitHub = {}) =>
  Object.entries(appInstallations)
    .flatMap(([app, { installations = [] }]) =>
      installations.map(({ installationId, name = '' }) => `${app} ${installationId} ${name}`.trim()),
    )
    .join('\n')

export function installationsOf(text: string): GitHub | undefined {
  const rows = filledLines(text).map((line) => {
    // A name can contain spaces, also several in a row.
    const [, app = '', installationId = '', name = ''] = /^(\S+)\s*(\S*)\s*(.*)$/.exec(line) ?? []
    return { app, installation: { installationId, name } }
  })
  if (rows.length === 0) return undefined
  const byApp = Map.groupBy(rows, ({ app }) => app)
  return {
    appInstallations: Object.fromEntries(
      [...byApp].map(([app, ofApp]) => [
        app,
        { installations: ofApp.map(({ installation }) => installation) },
      ]),
    ),
  }
}

const filledLines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** An account whose fields are all empty is left out, so saving the form removes it. */
export function associationOf(values: FormData): AccountAssociationJson {
  const text = (name: string) => String(values.get(name) ?? '').trim()
  const [account, projectId, projectNumber] = [text('amazon'), text('projectId'), text('projectNumber')]
  const [tenantId, clientIds] = [text('tenantId'), pairsOf(text('clientIds'))]
  const github = installationsOf(text('github'))
  const serviceBindings = pairsOf(text('services'))
  const hasAzure = tenantId !== '' || Object.keys(clientIds).length > 0
  return {
    ...{ name: text('name'), description: text('description') },
    ...(account !== '' && { amazon: { account } }),
    ...((projectId !== '' || projectNumber !== '') && { google: { projectId, projectNumber } }),
    ...(hasAzure && { azure: { tenantId, clientIds } }),
    ...(github && { github }),
    ...(Object.keys(serviceBindings).length > 0 && { chainguard: { serviceBindings } }),
  }
}

/** The fields that the form sets. */
export const associationFields = [
  ...(['name', 'description', 'amazon', 'google', 'azure', 'github', 'chainguard'] as const),
]
