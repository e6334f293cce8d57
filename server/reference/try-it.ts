// A form for each call, which sends it with the session of the console. The forms are hidden without scripts
// (assets/try-it.mjs), and are never filled or sent by a link.
import type { DescField } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { isRequired, isScope, rulesOf } from '@stemma/api/method.ts'
import { bodyExample } from '@stemma/api/reference/examples.ts'
import type { Operation } from '@stemma/api/reference/operations.ts'
import type { OperationPart } from '@stemma/api/reference/page.ts'
import type { Html } from '../pages/html.ts'
import { html } from '../pages/html.ts'
import type { Site } from './layout.ts'

export function tryIt({ operation, anchor }: OperationPart): Html {
  if (!canTry(operation)) return html``
  const { verb, path, method, variables, query, body } = operation
  const fields = [
    ...variables.map(({ name, field }) => input(anchor, name, field, 'path')),
    ...query.map(({ name, field }) => input(anchor, name, field, 'query')),
  ]
  const bodyId = `${anchor}-body`
  return html`<details class="try" hidden><summary>Try it</summary>
<form id="try-${anchor}" data-verb="${verb}" data-path="${path}" data-reads="${method.isRead ? 'yes' : 'no'}" data-open="${method.access?.open ? 'yes' : 'no'}" autocomplete="off">
<p class="session" role="status"></p>
${fields.length > 0 && html`<div class="fields">${fields}</div>`}
${
  body &&
  html`<label for="${bodyId}">Body</label><textarea id="${bodyId}" name="body" rows="${rowsOf(operation)}" spellcheck="false">${exampleOf(operation)}</textarea>`
}
<p class="actions"><button type="submit">${method.isRead ? 'Send' : 'Send …'}</button></p>
<div class="answer" role="status"></div>
</form></details>`
}

/**
 * False for streams (they can be endless), for bodies that are not JSON, and for calls that need a
 * token other than that of the session.
 */
const canTry = ({ method, body }: Operation) =>
  !method.isStream &&
  (method.access?.credential ?? '') === '' &&
  body?.type !== 'application/x-www-form-urlencoded'

function exampleOf({ body }: Operation): string {
  return body ? JSON.stringify(bodyExample(body), undefined, 2) : ''
}

const rowsOf = (operation: Operation) => Math.min(16, exampleOf(operation).split('\n').length + 1)

function input(anchor: string, name: string, field: DescField, place: 'path' | 'query'): Html {
  const id = `${anchor}-${name}`
  const needed = place === 'path' || isRequired(field)
  const common = html`id="${id}" name="${name}" data-in="${place}"${needed && html` required`}`
  return html`<label for="${id}"><code>${name}</code>${!needed && html` <span class="quiet">optional</span>`}</label>
${control(field, common)}`
}

function control(field: DescField, common: Html): Html {
  const values = field.enum?.values.map(({ name }) => name)
  const choices = field.scalar === ScalarType.BOOL ? ['true', 'false'] : values
  if (choices && field.fieldKind !== 'list')
    return html`<select ${common}><option value=""></option>${choices.map((choice) => html`<option>${choice}</option>`)}</select>`
  const isList = field.fieldKind === 'list'
  return html`<input ${common} type="text" spellcheck="false"${isList && html` data-list placeholder="several, separated by commas"`}${isGroup(field) && html` list="groups"`}>`
}

/** Whether the field can name a group: then the groups of the person are suggested. */
const isGroup = (field: DescField) =>
  rulesOf(field).uid || isScope(field) || /^(?:parent|group)(?:_(?:u?id))?$|_of$/.test(field.name)

/** The dialog for confirming a call that writes, and the list of suggested groups. */
export const confirmation = ({ baseUrl }: Site): Html =>
  html`<datalist id="groups"></datalist>
<dialog id="confirm" aria-labelledby="confirm-title"><form method="dialog">
<h2 id="confirm-title">Send this call?</h2>
<p>It is sent to <strong>${new URL(baseUrl).host}</strong> as <strong class="person"></strong>, and can change data there.</p>
<pre class="request" tabindex="0"></pre>
<p class="actions"><button value="cancel" class="plain" autofocus>Cancel</button> <button value="send">Send</button></p>
</form></dialog>`
