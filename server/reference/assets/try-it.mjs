// Sends calls from the forms of the reference with the session of the console. Calls that write are sent only after a
// confirmation. Everything from the server is shown as text.
import { forgetSession, prefix, readSession, signInPath } from './session.mjs'

const timeoutMs = 30_000
/** Longer answers are cut off. */
const maxShownCharacters = 200_000

export function enableForms() {
  for (const details of document.querySelectorAll('details.try')) {
    const form = details.querySelector('form')
    details.hidden = false
    details.addEventListener('toggle', () => details.open && showSession(form))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      send(form).catch((error) => showFailure(form, error))
    })
  }
  openTarget()
  addEventListener('hashchange', openTarget)
}

/** Opens the form that the fragment of the URL names. A sign-in returns to such a URL. */
function openTarget() {
  const target = location.hash.startsWith('#try-') && document.getElementById(location.hash.slice(1))
  if (!target) return
  target.closest('details').open = true
  target.scrollIntoView()
}

/** Says as whom a call is sent, or offers to sign in. Calls that are open to everybody can be sent without a session. */
async function showSession(form) {
  const line = form.querySelector('.session')
  const button = form.querySelector('[type=submit]')
  try {
    const session = await readSession()
    button.disabled = !session && form.dataset.open === 'no'
    if (session) {
      line.textContent = `You are signed in as ${nameOf(session)}.`
      await suggestGroups(session)
      return
    }
    const link = element('a', 'Sign in')
    // `form.id` would be the field `id`, if the call has one.
    link.href = signInPath(form.getAttribute('id'))
    line.replaceChildren(link, ' to send calls from this page.')
  } catch (error) {
    line.textContent = `Calls cannot be sent from this page: ${error.message}`
    button.disabled = form.dataset.open === 'no'
  }
}

const nameOf = ({ person }) => person.name || person.email || person.uid

/** Fills the suggestions of fields that name a group, once. */
async function suggestGroups({ token }) {
  const list = document.getElementById('groups')
  if (list.childElementCount > 0) return
  const response = await fetch(`${prefix}/iam/v2beta1/groups?pageSize=50&orderBy=name`, {
    headers: { authorization: `Bearer ${token}` },
  })
  if (!response.ok) return
  const { groups = [] } = await response.json()
  list.replaceChildren(
    ...groups.map(({ uid, name }) => {
      const option = element('option', name)
      option.value = uid
      return option
    }),
  )
}

async function send(form) {
  const { verb, reads } = form.dataset
  const url = urlOf(form)
  const body = form.elements.body?.value
  if (body !== undefined) requireJson(body)
  const session = await readSession()
  if (!session && form.dataset.open === 'no') return showSession(form)
  if (
    reads === 'no' &&
    !(await askToConfirm(`${verb} ${url}${body === undefined ? '' : `\n\n${body}`}`, session))
  )
    return
  const started = performance.now()
  const response = await fetch(prefix + url, {
    method: verb,
    headers: {
      ...(session && { authorization: `Bearer ${session.token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(timeoutMs),
    cache: 'no-store',
  })
  const text = await response.text()
  if (response.status === 401) forgetSession()
  showAnswer(form, response, text, performance.now() - started)
}

function requireJson(text) {
  try {
    JSON.parse(text)
  } catch (error) {
    throw new Error(`The body is not JSON: ${error.message}`)
  }
}

/** The path and query of the call. */
function urlOf(form) {
  const fields = [...form.elements].filter(({ dataset }) => dataset.in)
  const query = new URLSearchParams()
  let path = form.dataset.path
  for (const { name, value, dataset } of fields) {
    const text = value.trim()
    // A browser would remove these segments from the path, and another call would be sent.
    if (dataset.in === 'path' && /^\.{1,2}$/.test(text)) throw new Error(`${name} is not a uid`)
    if (dataset.in === 'path') path = path.replace(`{${name}}`, () => encodeURIComponent(text))
    else if (text !== '')
      for (const part of 'list' in dataset ? text.split(',') : [text]) query.append(name, part.trim())
  }
  return query.size > 0 ? `${path}?${query}` : path
}

/** Shows the request in a dialog. Returns whether the person wants to send it. */
function askToConfirm(request, session) {
  const dialog = document.getElementById('confirm')
  dialog.querySelector('.person').textContent = session ? nameOf(session) : 'nobody'
  dialog.querySelector('.request').textContent = request
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'send'), { once: true })
  })
}

function showAnswer(form, { status, statusText, ok }, text, ms) {
  const size = new TextEncoder().encode(text).length
  const line = element('p', `${status} ${statusText} · ${Math.round(ms)} ms · ${size} bytes`)
  line.className = ok ? 'status good' : 'status bad'
  const pre = element('pre', formatted(text).slice(0, maxShownCharacters))
  pre.tabIndex = 0
  form.querySelector('.answer').replaceChildren(line, ...(text === '' ? [] : [pre]))
}

function showFailure(form, error) {
  const line = element('p', error.message)
  line.className = 'status bad'
  form.querySelector('.answer').replaceChildren(line)
}

function formatted(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

function element(name, text) {
  const made = document.createElement(name)
  made.textContent = text
  return made
}
