import { useSignal } from '@preact/signals'
import { t } from '../texts/texts.ts'
import { copy } from '../ui/copy.ts'
import { IconButton } from '../ui/icons.tsx'

const copiedMs = 2_000

/** The button of a block of code that copies the code. */
export function CopyButton({ text }: { text: () => string }) {
  const isCopied = useSignal(false)
  async function copyText() {
    if (!(await copy(text()))) return
    isCopied.value = true
    setTimeout(() => (isCopied.value = false), copiedMs)
  }
  return (
    <span class="copy-code">
      {isCopied.value && <span role="status">{t('Copied')}</span>}
      <IconButton icon="copy" name={isCopied.value ? t('Copied') : t('Copy')} onClick={() => void copyText()} />
    </span>
  )
}
