// Package ecosystems: their names in OSV, the start of their purls, and the artifact types of advisories.

type Ecosystem = { osv: string; purl: string; type: string }

/** Every ecosystem of OSV 1.7.5 with the start of its purls, or '' if it has no purls. */
const purlStarts = {
  AlmaLinux: 'rpm/almalinux',
  Alpaquita: 'apk/alpaquita',
  Alpine: 'apk/alpine',
  Android: '',
  'Azure Linux': '',
  'BellSoft Hardened Containers': '',
  Bioconductor: 'bioconductor',
  Bitnami: 'bitnami',
  CRAN: 'cran',
  Chainguard: 'apk/chainguard',
  CleanStart: '',
  ConanCenter: 'conan',
  Debian: 'deb/debian',
  'Docker Hardened Images': '',
  Echo: 'deb/echo',
  FreeBSD: '',
  GHC: '',
  'GitHub Actions': 'githubactions',
  Go: 'golang',
  Hackage: 'hackage',
  Hex: 'hex',
  Julia: 'julia',
  Kubernetes: '',
  Linux: '',
  Mageia: 'rpm/mageia',
  Maven: 'maven',
  MinimOS: 'apk/minimos',
  NuGet: 'nuget',
  'OSS-Fuzz': '',
  Packagist: 'composer',
  'Photon OS': '',
  Pub: 'pub',
  PyPI: 'pypi',
  'Red Hat': 'rpm/redhat',
  'Rocky Linux': 'rpm/rocky-linux',
  Root: '',
  RubyGems: 'gem',
  SUSE: 'rpm/suse',
  SwiftURL: 'swift',
  TuxCare: '',
  Ubuntu: 'deb/ubuntu',
  VSCode: '',
  Wolfi: 'apk/wolfi',
  'crates.io': 'cargo',
  npm: 'npm',
  opam: 'opam',
  openEuler: 'rpm/openeuler',
  openSUSE: 'rpm/opensuse',
}

const ecosystems = Object.entries(purlStarts).map(([osv, purl]) => ({ osv, purl, type: typeOf(osv, purl) }))

/**
 * The artifact type. For Go, ecosystems without purls, and distributions (several share a purl type such as `apk`), it
 * is the OSV name in lower case; for all others, the purl type.
 */
function typeOf(osv: string, purl: string): string {
  return purl === '' || purl.includes('/') || osv === 'Go' ? osv.toLowerCase() : purl
}

const byName = new Map(ecosystems.map((ecosystem) => [ecosystem.osv, ecosystem]))
const byPurl = new Map(ecosystems.map((ecosystem) => [ecosystem.purl, ecosystem]))
const byType = new Map(ecosystems.map((ecosystem) => [ecosystem.type, ecosystem]))

/**
 * The part after a colon, as in `Alpine:v3.20`, is ignored. The type of an unknown ecosystem is its name in lower case.
 */
export function typeOfEcosystem(ecosystem: string): string {
  const colon = ecosystem.indexOf(':')
  const name = colon > 0 ? ecosystem.slice(0, colon) : ecosystem
  return byName.get(name)?.type ?? name.toLowerCase()
}

/** `start` is the purl up to the package name, e.g. `apk/alpine`. */
export const typeOfPurl = (start: string) => byPurl.get(start)?.type

/** Other spellings of artifact types in advisories. `apk` names no distribution and is treated as Chainguard. */
const typeAliases = new Map([
  ['apk', 'chainguard'],
  ['golang', 'go'],
])

/** The ecosystem of an artifact type. Undefined if OSV has none for it, as for images. */
export function ecosystemOf(type: string): Ecosystem | undefined {
  const lower = type.toLowerCase()
  return byType.get(typeAliases.get(lower) ?? lower)
}
