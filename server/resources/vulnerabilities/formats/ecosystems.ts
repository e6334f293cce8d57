// Where packages live: as OSV calls it, as a purl begins, and as we call it, the type of an artifact.

type Ecosystem = { osv: string; purl: string; type: string }

/** Every ecosystem of OSV 1.7.5 with the beginning of its purls, or '' where there is none. */
const purls = {
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

const ecosystems = Object.entries(purls).map(([osv, purl]) => ({ osv, purl, type: typeOf(osv, purl) }))

/** The word that purls have for it; distributions share theirs, and Go is Go. */
function typeOf(osv: string, purl: string): string {
  return purl === '' || purl.includes('/') || osv === 'Go' ? osv.toLowerCase() : purl
}

const byName = new Map(ecosystems.map((one) => [one.osv, one]))
const byPurl = new Map(ecosystems.map((one) => [one.purl, one]))
const byType = new Map(ecosystems.map((one) => [one.type, one]))

/** `Alpine:v3.20` is Alpine; ecosystems that are new to us are called what they are. */
export function typeOfEcosystem(ecosystem: string): string {
  const end = ecosystem.indexOf(':')
  const name = end > 0 ? ecosystem.slice(0, end) : ecosystem
  return byName.get(name)?.type ?? name.toLowerCase()
}

/** `begin` is all of a purl before the name, as in `apk/alpine`. */
export const typeOfPurl = (begin: string) => byPurl.get(begin)?.type

/** Types that say no ecosystem: our own packages are Chainguard's to OSV. */
const otherTypes = new Map([
  ['apk', 'chainguard'],
  ['golang', 'go'],
])

/** None for what OSV does not know, such as images. */
export function ecosystemOf(type: string): Ecosystem | undefined {
  const known = type.toLowerCase()
  return byType.get(otherTypes.get(known) ?? known)
}
