import { preferences } from '../app/preferences.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { modifierKey } from '../ui/keys.ts'

/** A shortcut: its description, and one or more combinations of keys. */
type Shortcut = [effect: string, ...ways: string[][]]

export function KeyboardShortcuts({ onClose }: { onClose: () => void }) {
  const { characterKeys } = preferences.value
  const parts: [name: string, shortcuts: Shortcut[]][] = [
    [
      t('Navigation'),
      [
        [t('Switch to a channel or person'), [modifierKey, 'K']],
        [t('Previous or next channel'), ['Alt', '↑'], ['Alt', '↓']],
        [t('Previous or next unread channel'), ['Alt', 'Shift', '↑'], ['Alt', 'Shift', '↓']],
        ...(characterKeys ? [[t('Search, outside a text box'), ['/']] satisfies Shortcut] : []),
        [t('Close a dialog, menu or panel'), ['Esc']],
        [t('Show this list'), [modifierKey, '/'], ...(characterKeys ? [['?']] : [])],
      ],
    ],
    [
      t('Writing'),
      [
        [t('Send the message'), ['Enter']],
        [t('Begin a new line'), ['Shift', 'Enter']],
        [t('Bold, italic, code'), [modifierKey, 'B'], [modifierKey, 'I'], [modifierKey, 'E']],
        [t('Strikethrough'), [modifierKey, 'Shift', 'X']],
        [t('Edit your last message, if the text box is empty'), ['↑']],
      ],
    ],
    [t('Messages'), [[t('Move between messages'), ['↑'], ['↓'], ['Page Up'], ['Page Down'], ['Home'], ['End']]]],
  ]
  return (
    <Dialog name={t('Keyboard shortcuts')} onClose={onClose}>
      {parts.map(([name, shortcuts]) => (
        <table key={name} class="shortcuts">
          <caption>{name}</caption>
          <tbody>
            {shortcuts.map(([effect, ...ways]) => (
              <tr key={effect}>
                <th scope="row">{effect}</th>
                <td>
                  {ways.map((keys) => (
                    <bdo key={keys.join()} dir="ltr">
                      {keys.map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </bdo>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </Dialog>
  )
}
