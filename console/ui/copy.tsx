import { useSignal } from '@preact/signals'
import { IconButton } from './button.tsx'
import { toast } from './toast.ts'

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    toast('The browser does not allow copying. Select the text and copy it yourself.', 'error')
    return false
  }
}

/** A button that copies a text and shows for two seconds that it has. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const isCopied = useSignal(false)
  const copy = async () => {
    isCopied.value = await copyText(text)
    setTimeout(() => {
      isCopied.value = false
    }, 2000)
  }
  return (
    <IconButton
      icon={isCopied.value ? 'check' : 'copy'}
      label={isCopied.value ? 'Copied' : label}
      onClick={copy}
    />
  )
}

/** A uid, shortened to 16 digits of its last segment, with a button that copies the whole uid. */
export const Uid = ({ uid }: { uid: string }) => (
  <span class="uid">
    <code title={uid}>{uid.slice(uid.lastIndexOf('/') + 1).slice(0, 16)}</code>
    <Copy text={uid} label="Copy uid" />
  </span>
)

/** A digest, shortened to the digits that people compare, with a button that copies all of it. */
export const Digest = ({ digest }: { digest: string }) => (
  <span class="uid">
    <code title={digest}>{digest.slice(0, digest.indexOf(':') + 13)}</code>
    <Copy text={digest} label={`Copy digest ${digest.slice(0, digest.indexOf(':') + 13)}`} />
  </span>
)
