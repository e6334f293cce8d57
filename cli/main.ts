import manifest from './package.json' with { type: 'json' }

const help = `stemma ${manifest.version}: the client of a Stemma server

Usage: stemma --help | --version

The commands of the client come with later releases. Until then speak to the server with curl:

  curl -H "Authorization: Bearer $TOKEN" http://localhost:8080/iam/v2beta1/groups

\`npx stemmad bootstrap --org NAME\`, run beside the server, prints a token.`

const [command] = process.argv.slice(2)

if (command === '--version' || command === '-v') {
  console.log(manifest.version)
} else if (command === undefined || command === '--help' || command === '-h' || command === 'help') {
  console.log(help)
} else {
  console.error(`stemma: "${command}" comes with a later release; until then use curl, see \`stemma --help\``)
  process.exitCode = 2
}
