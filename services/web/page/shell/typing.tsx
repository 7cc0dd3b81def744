import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { memo } from '../ui/memo.ts'

/** The names of more people do not fit into the line. */
const maxNamed = 3

/** The line below the composer with the names of the people who are typing. */
export const Typing = memo(function Typing({ workspace, id }: { workspace: Workspace; id: string }) {
  const names = workspace.typing.names(id)
  return (
    <div class="below-composer">
      {names.length > maxNamed
        ? t('Several people are typing…')
        : names.length > 0 &&
          t('{count, plural, one {{names} is typing…} other {{names} are typing…}}', {
            count: names.length,
            names: new Intl.ListFormat(document.documentElement.lang).format(names),
          })}
    </div>
  )
})
