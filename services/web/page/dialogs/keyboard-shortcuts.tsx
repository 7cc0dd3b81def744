import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'

export function KeyboardShortcuts({ onClose }: { onClose: () => void }) {
  const shortcuts: [keys: string, effect: string][] = [
    ['Ctrl+K', t('Switch to a channel or person')],
    ['Alt+↑  Alt+↓', t('Previous or next channel')],
    ['Enter', t('Send the message')],
    ['Shift+Enter', t('Begin a new line')],
    ['↑', t('Edit your last message, when nothing is written')],
    ['↑  ↓  Page Up  Page Down', t('Move between messages')],
    ['Escape', t('Close a dialog, menu or panel')],
    ['Ctrl+/  ?', t('Show this list')],
  ]
  return (
    <Dialog name={t('Keyboard shortcuts')} onClose={onClose}>
      <table>
        <tbody>
          {shortcuts.map(([keys, effect]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{effect}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  )
}
