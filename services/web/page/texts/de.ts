import texts from './de.json'
import { addLanguage } from './server/add-language.ts?de'
import sentences from './server/de.json'

export default addLanguage('de', texts, sentences)
