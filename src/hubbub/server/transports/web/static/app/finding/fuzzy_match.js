/** Approximate matching of names. */

/** Return a text in lower case and without accents. */
export const foldText = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Scores by the position of the query in the name. */
export const EXACT = 100;
const START = 80,
  WORD_START = 65,
  INSIDE = 50,
  SCATTERED_MAX = 40;

/**
 * Return how well a name matches a query, from 1 to 100, or 0 if it does not: all characters of the query must appear in
 * order. Both texts are folded.
 */
export function matchScore(query, name) {
  if (query === name) return EXACT;
  const index = name.indexOf(query);
  if (index === 0) return START;
  if (index > 0) return /[\p{L}\p{N}]/u.test(name[index - 1]) ? INSIDE : WORD_START;
  return scatteredScore(query, name);
}

/** Return the score of a query whose characters are scattered in a name; the closer together, the higher. */
function scatteredScore(query, name) {
  let position = -1,
    gapCount = 0;
  for (const character of query) {
    const nextPosition = name.indexOf(character, position + 1);
    if (nextPosition < 0) return 0;
    if (position >= 0 && nextPosition > position + 1) gapCount += 1;
    position = nextPosition;
  }
  return Math.max(1, SCATTERED_MAX - gapCount * 8);
}
