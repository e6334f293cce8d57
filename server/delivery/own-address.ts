// Refuses sinks that are this server itself: it would call its own API.
import { networkInterfaces } from 'node:os'

type Listening = { port: number; baseUrl: string; authUrl: string }

/** Whether a URL leads to this server: by its public name, or by an address of this machine and the port it listens on. */
export function isOwnAddress({ port, baseUrl, authUrl }: Listening): (url: URL, address: string) => boolean {
  const hosts = new Set([new URL(baseUrl).host, new URL(authUrl).host])
  return (url, address) => {
    if (hosts.has(url.host)) return true
    const urlPort = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
    return port !== 0 && urlPort === port && isOfThisMachine(address)
  }
}

const isOfThisMachine = (address: string): boolean =>
  /^(127\.|::1$|0\.0\.0\.0$|::$)/.test(address) ||
  Object.values(networkInterfaces()).some((addresses) => addresses?.some((own) => own.address === address))
