// Finds environment variables that were meant to be settings.
import { nearestNames } from '@stemma/api/nearest-names.ts'
import { settings } from './settings.ts'

const prefix = /^STEMMA_/
/** Kubernetes sets STEMMA_PORT to such a URL if there is a service named stemma. */
const kubernetesUrl = /^(tcp|udp|sctp):/

/** A variable that resembles no setting may belong to another program, such as the command line. */
export function warnOfMisspelledVariables(env: NodeJS.ProcessEnv): string[] {
  const variables = new Map(
    Object.values(settings).map(({ variable }) => [variable.replace(prefix, ''), variable]),
  )
  return Object.entries(env).flatMap(([name, value = '']) => {
    const word = name.replace(prefix, '')
    if (word === name || variables.get(word) === name || kubernetesUrl.test(value)) return []
    // A setting whose name begins with the word is another thing: STEMMA_TOKEN is not STEMMA_TOKEN_ALGORITHM.
    const [nearest = ''] = nearestNames(word, [...variables.keys()]).filter(
      (similar) => !similar.startsWith(`${word}_`),
    )
    const meant = variables.get(nearest)
    return meant === undefined ? [] : [`${name} has no effect, because the setting is called ${meant}`]
  })
}
