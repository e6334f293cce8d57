// Buttons that copy the text of code blocks.

export function addCopyButtons() {
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      button.textContent = (await copyText(textOf(block))) ? 'Copied' : 'Not allowed'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 2000)
    })
    block.append(button)
  }
}

/** Returns whether the text was copied. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** For the language `console`, only the commands: lines with a prompt and their continuations. */
function textOf(block) {
  const text = block.querySelector('code').textContent.trimEnd()
  if (block.dataset.language !== 'console') return text
  let isContinued = false
  const commands = text.split('\n').filter((line) => {
    const isCommand = isContinued || line.startsWith('$ ')
    isContinued = isCommand && line.endsWith('\\')
    return isCommand
  })
  return commands.map((line) => line.replace(/^\$ /, '')).join('\n')
}
